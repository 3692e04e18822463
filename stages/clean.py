"""Drop bad pairs from the training part: data/download/<corpus>/ -> data/clean/<corpus>/."""

from pathlib import Path

from pipeline.common import files, parts, work
from pipeline.common.params import Node
from pipeline.console import cli
from pipeline.preparation import bitexts, cleaning

READS = ("clean", "corpora/{corpus}.yaml:clean")


def main(corpus: str) -> None:
    """Clean the training part, copy validation and test parts, and write counts and examples of dropped pairs."""
    raw = Path("data/download", corpus)
    about = files.read_json(raw / "download.json")
    records, languages = about["parts"], (about["source_language"], about["target_language"])
    page, own = (Node.read(place.format(corpus=corpus)) for place in READS)
    sections = cleaning.sections(page, own, records[parts.TRAIN]["bitexts"])
    dumped = {name: section.model_dump() for name, section in sections.items()}
    with work.resumable(Path("data/clean", corpus), dumped, inputs=[raw]) as folder:
        out = folder / work.DATA
        pairs = {part: parts.copy(part, raw, out) for part in records if part != parts.TRAIN}
        tallies = bitexts.clean(raw, folder, sections, languages, corpus)
        cleaning.check_kept(tallies, raw / parts.TRAIN)
        total = cleaning.total_of(tallies)
        by_bitext = {name: record | tallies[name].counts() for name, record in records[parts.TRAIN]["bitexts"].items()}
        read = {part: record["files"] for part, record in about.pop("parts").items()}
        counts = {"files": read, "pairs": pairs | {parts.TRAIN: total.kept}, **total.counts(), "bitexts": by_bitext}
        files.write_json(out / "clean.json", about | counts)


if __name__ == "__main__":
    cli.run(main)
