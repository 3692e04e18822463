"""Turn every part of a corpus into ids of one vocabulary: data/split/, data/vocabulary/ -> data/encode/."""

from pathlib import Path

from pipeline import cli, files
from pipeline.data.encoding import encode_part, parts

READS = ()


def main(corpus: str, vocabulary: str) -> None:
    """Encode all parts of `corpus`, and count what stands in them."""
    split, name, counts = Path("data/split", corpus), f"{corpus}-{vocabulary}", {}
    with files.new_folder(Path("data/encode", name)) as folder:
        for part in parts(split):
            source, target = split / f"{part}.source.txt", split / f"{part}.target.txt"
            counts[part] = encode_part(Path("data/vocabulary", name), source, target, folder / part)
        files.write_json(folder / "encode.json", counts)


if __name__ == "__main__":
    cli.run(main)
