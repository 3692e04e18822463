"""Train one vocabulary on a corpus's training part: data/split/ -> data/vocabulary/."""

from pathlib import Path

from pipeline import cli, files
from pipeline.data.vocabulary import Subwords, train
from pipeline.params import Reader

READS = ("vocabularies.{vocabulary}",)


def main(corpus: str, vocabulary: str) -> None:
    """Train `vocabulary` on the training part of `corpus`, which alone it sees."""
    subwords = Reader(READS, vocabulary=vocabulary)(Subwords, "vocabularies.{vocabulary}")
    split = Path("data/split", corpus)
    with files.new_folder(Path("data/vocabulary", f"{corpus}-{vocabulary}")) as folder:
        source, target = split / "train.source.txt", split / "train.target.txt"
        train(subwords, source, target, folder, where=f"vocabularies.{vocabulary}")


if __name__ == "__main__":
    cli.run(main)
