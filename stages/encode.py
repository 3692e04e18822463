"""Turn every part of a corpus into ids of one vocabulary: data/split/, data/vocabulary/ -> data/encode/.

The training part of a corpus with a teacher is that of data/targets/.
"""

from pipeline import cli, files
from pipeline.corpora import parts
from pipeline.encoding.text_to_ids import encode_part
from pipeline.params import Reader
from pipeline.system import Distillation, distilled_folder, encoded_folder, split_folder, vocabulary_folder

READS = ("distill",)


def main(corpus: str, vocabulary: str) -> None:
    """Encode all parts of `corpus`, and count their pairs, tokens and unknown pieces."""
    has_teacher = corpus in Reader(READS)(Distillation, *READS).teachers
    split, counts = split_folder(corpus), {}
    with files.new_folder(encoded_folder(corpus, vocabulary)) as folder:
        for part in parts.names(split):
            is_taught = has_teacher and part == parts.TRAIN
            source, target = parts.paths(distilled_folder(corpus) if is_taught else split, part)
            counts[part] = encode_part(vocabulary_folder(corpus, vocabulary), source, target, folder / part)
        files.write_json(folder / "encode.json", counts)


if __name__ == "__main__":
    cli.run(main)
