"""Turn every part of a corpus into ids of one vocabulary: data/split/, data/vocabulary/ -> data/encode/."""

from pipeline.common import files, parts, work
from pipeline.common.system import encoded_folder, split_folder, vocabulary_folder
from pipeline.console import cli
from pipeline.encoding.text_to_ids import encode_bitexts, encode_part
from pipeline.vocabularies.samples import Tagging

READS = ("corpora/{corpus}.yaml:tags",)


def main(name: str) -> None:
    """Encode all parts of a corpus with a vocabulary, `<corpus>-<vocabulary>`; count pairs, tokens, unknown pieces."""
    corpus, _, vocabulary = name.partition("-")
    split, pieces = split_folder(corpus), vocabulary_folder(corpus, vocabulary)
    tags = Tagging.read(corpus, split)
    with work.resumable(encoded_folder(corpus, vocabulary), tags, inputs=[split, pieces]) as folder:
        data = folder / work.DATA
        counts = {parts.TRAIN: encode_bitexts(pieces, split, folder, tags)}
        counts |= {part: encode_part(pieces, split, part, data / part) for part in parts.names(split)}
        files.write_json(data / "encode.json", counts)


if __name__ == "__main__":
    cli.run(main)
