"""Drop bad pairs from the training part: data/download/<corpus>/ -> data/clean/<corpus>/."""

from pathlib import Path

from pipeline.common import files, parts
from pipeline.console import cli, progress
from pipeline.preparation import cleaning

READS = ("clean", "corpora/{corpus}.yaml:clean")


def main(corpus: str) -> None:
    """Clean the training part, copy validation and test parts, and write counts and examples of dropped pairs."""
    section = cleaning.Cleaning.load(*READS, corpus=corpus)
    raw, tally = Path("data/download", corpus), cleaning.Tally(section)
    about = files.read_json(raw / "download.json")
    lines, total = files.parallel(*parts.paths(raw, parts.TRAIN), files.raw_lines), about["parts"][parts.TRAIN]["pairs"]
    lines = progress.track(lines, f"clean {corpus}", total=total, unit="pairs")
    with files.new_folder(Path("data/clean", corpus)) as folder:
        pairs = {part: parts.copy(part, raw, folder) for part in about["parts"] if part != parts.TRAIN}
        pairs[parts.TRAIN] = parts.write(folder, parts.TRAIN, cleaning.clean(lines, section, tally))
        cleaning.check_kept(tally, parts.paths(raw, parts.TRAIN)[0])
        languages = {side: about[side] for side in ("source_language", "target_language")}
        read = {part: record["files"] for part, record in about["parts"].items()}
        files.write_json(folder / "clean.json", {**languages, "files": read, "pairs": pairs, **tally.counts()})


if __name__ == "__main__":
    cli.run(main)
