"""Translate a teacher's training part: ../../models/<teacher>/ -> data/split/taught/ and data/vocabulary/.

The source sentences of the corpus `taught` are those of the teacher's training part, its targets the teacher's
translations; its other parts and its vocabulary are the teacher's.
"""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

from pydantic import PositiveInt

from pipeline.common import files, parts, work
from pipeline.common.params import Section
from pipeline.common.system import Name, System, split_folder, vocabulary_folder
from pipeline.console import cli
from pipeline.packaging import loading, sealed

ROOT, CORPUS, REFERENCES = Path("../.."), "taught", "references_of_"


class Teacher(Section):
    """Section `teacher`: a system of the project, and whether its student trains on the references too."""

    corpus: Name
    vocabulary: Name
    model: Name
    size: Name
    seed: PositiveInt
    keep_references: bool  # then each source is there twice, in bitexts of their own

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
    shards = parts.read_bitexts(split)
    with work.resumable(split_folder(CORPUS), teacher.keep_references, inputs=[split, packaged]) as folder:
        out = folder / work.DATA
        for part in parts.names(split):
            counts[part] = parts.copy(part, split, out)
        translate = partial(translate_shard, split=split, packaged=packaged, out=out)
        for _ in work.map_shards(translate, shards, folder, "distill", processes=1):
            pass
        if teacher.keep_references:
            references = [shard._replace(bitext=f"{REFERENCES}{shard.bitext}") for shard in shards]
            for old, new in zip(shards, references, strict=True):
                new.write(out, old.read(split))
            shards += references
        parts.write_bitexts(out, shards)
        counts[parts.TRAIN] = sum(shard.pairs for shard in shards)
        shutil.copyfile(split / "languages.json", out / "languages.json")
    files.write_json(Path("data/split", f"{CORPUS}.json"), summary | {"pairs": counts})
    with files.new_folder(vocabulary_folder(CORPUS, teacher.vocabulary)) as folder:
        sealed.copy_vocabulary(packaged / sealed.VOCABULARY, folder)


def translate_shard(shard: parts.Shard, split: Path, packaged: Path, out: Path) -> int:
    """Write each source sentence of a shard with its translation, by the packaged settings; returns how many."""
    translator = replace(loading.load(packaged), writes_unknown=False)
    sources = [source for source, _ in shard.read(split)]
    translations = translator.translate(sources, what=f"distill {shard.name}")
    return shard.write(out, zip(sources, translations, strict=True))


if __name__ == "__main__":
    cli.run(main)
