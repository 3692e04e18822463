"""Translate a teacher's training part: ../../models/<teacher>/ -> data/split/taught/ and data/vocabulary/.

The source sentences of the corpus `taught` are those of the teacher's training part, its targets the teacher's
translations; its other parts and its vocabulary are the teacher's. Blocks of translations are kept in work/distill/
until the last one is there, so that a killed stage goes on where it was.
"""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from pydantic import PositiveInt

from pipeline.common import files, parts
from pipeline.common.params import Section
from pipeline.common.system import Name, System, split_folder, vocabulary_folder
from pipeline.console import cli
from pipeline.packaging import loading, package

ROOT, CORPUS = Path("../.."), "taught"
BLOCK = 5_000  # lines


class Teacher(Section):
    """Section `teacher`: a system of the project, and whether its student trains on the references too."""

    corpus: Name
    vocabulary: Name
    model: Name
    size: Name
    seed: PositiveInt
    keep_references: bool  # then each source is there twice

    @property
    def system(self) -> System:
        """The system."""
        return System(self.corpus, self.vocabulary, self.model, self.size, self.seed)


def main() -> None:
    """Write the corpus, its summary and its vocabulary.

    Source: Kim and Rush 2016, sequence-level knowledge distillation.
    """
    teacher = Teacher.load("teacher")
    system = teacher.system
    split, packaged = ROOT / system.split, ROOT / system.packaged
    summary, counts = files.read_json(ROOT / system.split_summary), {}
    with files.new_folder(split_folder(CORPUS)) as folder:
        for part in parts.names(split):
            if part == parts.TRAIN:
                counts[part] = parts.write(folder, part, taught_pairs(split, packaged, teacher.keep_references))
            else:
                counts[part] = parts.copy(part, split, folder)
        shutil.copyfile(split / "languages.json", folder / "languages.json")
    files.write_json(Path("data/split", f"{CORPUS}.json"), summary | {"pairs": counts})
    with files.new_folder(vocabulary_folder(CORPUS, teacher.vocabulary)) as folder:
        package.copy_vocabulary(packaged / package.VOCABULARY, folder)
    shutil.rmtree("work/distill", ignore_errors=True)


def taught_pairs(split: Path, packaged: Path, keep_references: bool) -> Iterator[parts.Pair]:
    """Every source sentence of the training part with its translation; then with its reference, if these are kept."""
    source, _ = parts.paths(split, parts.TRAIN)
    pairs = zip(files.read_lines(source), translations(source, packaged), strict=True)
    return chain(pairs, parts.read(split, parts.TRAIN) if keep_references else ())


def translations(source: Path, packaged: Path) -> Iterator[str]:
    """The teacher's translation of every line, block after block, by its packaged settings."""
    translator = replace(loading.load(packaged), writes_unknown=False)
    blocks = Path("work/distill", files.sha256(source, packaged / package.CHECKSUMS)[:16])
    num_lines, lines = files.count_lines(source), files.read_lines(source)
    for begin in range(0, num_lines, BLOCK):
        block, path = list(islice(lines, BLOCK)), blocks / f"{begin + 1}.txt"
        if not path.exists():
            what = f"distill {begin + 1:,} to {begin + len(block):,} of {num_lines:,}"
            files.write_lines(path, translator.translate(block, what=what))
        yield from files.read_lines(path)


if __name__ == "__main__":
    cli.run(main)
