"""Turn every part of a corpus into ids of one vocabulary: data/split/, data/vocabulary/ -> data/encode/."""

from pathlib import Path

from pipeline import cli, files
from pipeline.corpora import parts
from pipeline.encoding.text_to_ids import encode_part

READS = ()


def main(corpus: str, vocabulary: str) -> None:
    """Encode all parts of `corpus`, and count what stands in them."""
    split, name, counts = Path("data/split", corpus), f"{corpus}-{vocabulary}", {}
    with files.new_folder(Path("data/encode", name)) as folder:
        for part in parts.names(split):
            counts[part] = encode_part(Path("data/vocabulary", name), *parts.paths(split, part), folder / part)
        files.write_json(folder / "encode.json", counts)


if __name__ == "__main__":
    cli.run(main)
