"""Translate a corpus's training part with its teacher: runs/<teacher>/average/ -> data/targets/<corpus>/distilled/.

Every block of translations is kept in work/distill/ until the last one is there, so that a killed stage goes on where
it was.
"""

import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pipeline import cli, files
from pipeline.corpora import parts
from pipeline.decoding.settings import WITHOUT_MEMORY, Decoding
from pipeline.decoding.translator import Translator
from pipeline.fingerprint import fingerprint
from pipeline.params import Reader
from pipeline.system import Teacher, distilled_folder, split_folder

READS = ("distill.teachers.{corpus}", "decode", "corpora/{corpus}.yaml:decode")
BLOCK = 5_000  # lines in memory at a time; they share batches, so another number may change the last bits


def main(corpus: str) -> None:
    """Write the teacher's translation of every source line of the training part, and whose it is."""
    reader = Reader(READS, corpus=corpus)
    teacher, decoding = reader(Teacher, READS[0]).system, reader(Decoding, *READS[1:]).changed(**WITHOUT_MEMORY)
    source, _ = parts.paths(split_folder(corpus), parts.TRAIN)
    translator = Translator.built(teacher)  # whose memory would know the answers
    inputs = (source, teacher.weights, teacher.vocabulary_folder)
    arithmetic = (translator.where.type, translator.precision)  # whose rounding may change a word
    blocks = Path("work/distill", f"{corpus}-{fingerprint(inputs, [decoding], teacher.id, *arithmetic)[:16]}")
    with files.new_folder(distilled_folder(corpus)) as folder:
        _, target = parts.paths(folder, parts.TRAIN)
        files.write_lines(target, translated(corpus, source, translator, decoding, blocks))
        files.write_json(folder / "distill.json", {"teacher": teacher.id, "decoding": decoding.model_dump()})
    for folder in blocks.parent.glob(f"{corpus}-*"):  # also those of other teachers, settings, code or arithmetic
        shutil.rmtree(folder, ignore_errors=True)


def translated(corpus: str, source: Path, translator: Translator, decoding: Decoding, blocks: Path) -> Iterator[str]:
    """The translation of every line of `source`, block after block; those in the folder `blocks` are there already."""
    num_lines, lines = files.count_lines(source), files.read_lines(source)
    for begin in range(0, num_lines, BLOCK):
        block, path = list(islice(lines, BLOCK)), blocks / f"{begin + 1}.txt"
        if not path.exists():
            what = f"distill {corpus} {begin + 1:,} to {begin + len(block):,} of {num_lines:,}"
            files.write_lines(path, translator.translate(block, decoding, what, unknown=False))
        yield from files.read_lines(path)


if __name__ == "__main__":
    cli.run(main)
