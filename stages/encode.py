"""Turn every part of a corpus into ids of one vocabulary: data/split/, data/vocabulary/ -> data/encode/."""

from pipeline.common import files, parts
from pipeline.common.system import encoded_folder, split_folder, vocabulary_folder
from pipeline.console import cli
from pipeline.encoding.text_to_ids import encode_part

READS = ()


def main(name: str) -> None:
    """Encode all parts of a corpus with a vocabulary, `<corpus>-<vocabulary>`; count pairs, tokens, unknown pieces."""
    corpus, _, vocabulary = name.partition("-")
    split, pieces = split_folder(corpus), vocabulary_folder(corpus, vocabulary)
    with files.new_folder(encoded_folder(corpus, vocabulary)) as folder:
        counts = {part: encode_part(pieces, *parts.paths(split, part), folder / part) for part in parts.names(split)}
        files.write_json(folder / "encode.json", counts)


if __name__ == "__main__":
    cli.run(main)
