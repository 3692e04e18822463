"""Turn every part of a corpus into ids of one vocabulary: data/split/, data/vocabulary/ -> data/encode/.

The training part of a corpus with a teacher has the teacher's target sentences, data/targets/; with `keep_references`
its own pairs follow.

For a corpus without a teacher it first removes the translations of a former one, data/targets/<corpus>/distilled/,
although they are an input. No stage writes them any more, so DVC leaves them there, and their checksum would stand in
dvc.lock, while no clone has them. DVC takes the checksums of inputs again after the run.
"""

import shutil
from pathlib import Path

from pipeline import cli, files
from pipeline.corpora import parts
from pipeline.encoding.text_to_ids import encode_part
from pipeline.params import Reader
from pipeline.system import Distillation, distilled_folder, encoded_folder, split_folder, vocabulary_folder

READS = ("distill",)


def main(corpus: str, vocabulary: str) -> None:
    """Encode all parts of `corpus`, and count their pairs, tokens and unknown pieces."""
    distillation = Reader(READS)(Distillation, *READS)
    if corpus not in distillation.teachers and distilled_folder(corpus).exists():
        shutil.rmtree(distilled_folder(corpus))
    split, counts = split_folder(corpus), {}
    with files.new_folder(encoded_folder(corpus, vocabulary)) as folder:
        for part in parts.names(split):
            texts = training_texts(corpus, distillation) if part == parts.TRAIN else [parts.paths(split, part)]
            counts[part] = encode_part(vocabulary_folder(corpus, vocabulary), texts, folder / part)
        files.write_json(folder / "encode.json", counts)


def training_texts(corpus: str, distillation: Distillation) -> list[tuple[Path, Path]]:
    """The source and target files of the training part, one pair of files after another."""
    source, references = parts.paths(split_folder(corpus), parts.TRAIN)
    if corpus not in distillation.teachers:
        return [(source, references)]
    _, translations = parts.paths(distilled_folder(corpus), parts.TRAIN)
    kept = [(source, references)] if corpus in distillation.keep_references else []
    return [(source, translations), *kept]


if __name__ == "__main__":
    cli.run(main)
