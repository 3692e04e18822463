"""Drop bad pairs from the training part: data/download/<corpus>/ -> data/clean/<corpus>/."""

from functools import reduce
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
        by_bitext = bitexts.clean(raw, folder, sections, languages, corpus)
        cleaning.check_kept(by_bitext, raw / parts.TRAIN)
        total = {key: value for key, value in reduce(work.added, by_bitext.values()).items() if key != "examples"}
        read = {part: record["files"] for part, record in about.pop("parts").items()}
        of = {name: record | by_bitext[name] for name, record in records[parts.TRAIN]["bitexts"].items()}
        pairs[parts.TRAIN] = total["kept"]
        files.write_json(out / "clean.json", {**about, "files": read, "pairs": pairs, **total, "bitexts": of})


if __name__ == "__main__":
    cli.run(main)
