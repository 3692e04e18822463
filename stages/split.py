"""Carve missing parts, drop leaks from training: data/clean/<corpus>/ -> data/split/<corpus>/ and its .json.

metrics/<corpus>.json has a few of the counts, which `dvc metrics show` and `dvc exp show` put into columns.
"""

from pathlib import Path

from pipeline.common import files, work
from pipeline.console import cli
from pipeline.preparation import partition, splits

READS = ("split", "corpora/{corpus}.yaml:split")


def main(corpus: str) -> None:
    """Write the parts and their languages, then counts of pairs and leaks."""
    splitting = splits.Splitting.load(*READS, corpus=corpus)
    clean = Path("data/clean", corpus)
    about = files.read_json(clean / "clean.json")
    splits.check_shares(splitting, about["pairs"], f"corpora/{corpus}.yaml: split")
    with work.resumable(Path("data/split", corpus), splitting.model_dump(), inputs=[clean]) as folder:
        counts = partition.split(clean, folder, splitting, about["pairs"], corpus)
        languages = {key: about[key] for key in ("source_language", "target_language")}
        files.write_json(folder / work.DATA / "languages.json", languages)
    for name, of_bitext in counts["bitexts"].items():
        cleaned = about["bitexts"][name]
        of_bitext |= {"licence": cleaned["licence"], "read": cleaned["read"], "cleaning": cleaned["dropped"]}
    files.write_json(Path("data/split", f"{corpus}.json"), {"files": about["files"], **counts})
    files.write_json(Path("metrics", f"{corpus}.json"), partition.metrics(counts))


if __name__ == "__main__":
    cli.run(main)
