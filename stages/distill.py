"""Translate a corpus's training part with its teacher: runs/<teacher>/average/ -> data/targets/<corpus>/distilled/."""

from collections.abc import Iterator
from itertools import islice

from pipeline import cli, files
from pipeline.corpora import parts
from pipeline.decoding.translate import Decoding
from pipeline.decoding.translator import Translator
from pipeline.params import Reader
from pipeline.system import Teacher, distilled_folder, split_folder

READS = ("distill.teachers.{corpus}", "decode", "corpora/{corpus}.yaml:decode")
BLOCK = 20_000  # lines in memory at a time


def main(corpus: str) -> None:
    """Write the teacher's translation of every source line of the training part, and whose it is."""
    reader = Reader(READS, corpus=corpus)
    teacher, decoding = reader(Teacher, READS[0]).system, reader(Decoding, *READS[1:])
    translator = Translator.built(teacher)
    path, _ = parts.paths(split_folder(corpus), parts.TRAIN)
    num_lines = files.count_lines(path)

    def translations() -> Iterator[str]:
        lines = files.read_lines(path)
        for begin in range(0, num_lines, BLOCK):
            block = list(islice(lines, BLOCK))
            what = f"distill {corpus} {begin + 1:,} to {begin + len(block):,} of {num_lines:,}"
            yield from translator.translate(block, decoding, what, unknown=False)

    with files.new_folder(distilled_folder(corpus)) as folder:
        files.write_lines(parts.paths(folder, parts.TRAIN)[1], translations())
        files.write_json(folder / "distill.json", {"teacher": teacher.id, "decoding": decoding.model_dump()})


if __name__ == "__main__":
    cli.run(main)
