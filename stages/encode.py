"""Turn every part of a corpus into ids of one vocabulary: data/split/, data/vocabulary/ -> data/encode/."""

from pipeline import cli, files
from pipeline.corpora import parts
from pipeline.encoding.text_to_ids import encode_part
from pipeline.system import encoded_folder, split_folder, vocabulary_folder

READS = ()


def main(corpus: str, vocabulary: str) -> None:
    """Encode all parts of `corpus`, and count their pairs, tokens and unknown pieces."""
    split, counts = split_folder(corpus), {}
    with files.new_folder(encoded_folder(corpus, vocabulary)) as folder:
        for part in parts.names(split):
            counts[part] = encode_part(vocabulary_folder(corpus, vocabulary), *parts.paths(split, part), folder / part)
        files.write_json(folder / "encode.json", counts)


if __name__ == "__main__":
    cli.run(main)
