"""Show what one system looks at in sentences of the test parts: runs/<system>/average/ -> data/attend/<system>/."""

import json
from pathlib import Path

from pipeline import cli, files
from pipeline.data import parts
from pipeline.decoding.attending import Attending, choose
from pipeline.params import Reader
from pipeline.translator import Translator

READS = ("attend",)


def main(corpus: str, vocabulary: str, model: str, size: str) -> None:
    """Write a list of sentences for every test part, each with its pieces, its translation and all the weights."""
    attending = Reader(READS)(Attending, "attend")
    system, split = f"{corpus}-{vocabulary}-{model}-{size}", Path("data/split", corpus)
    translator = Translator.load(system)
    with files.new_folder(Path("data/attend", system)) as folder:
        for part in filter(parts.is_test, parts.names(split)):
            lines = list(files.read_lines(parts.paths(split, part)[0]))
            with files.new_file(folder / f"{part}.json") as file:
                records = [
                    json.dumps(attend(translator, lines, index, attending), ensure_ascii=False)
                    for index in choose(lines, attending, part)
                ]
                file.write("[\n" + ",\n".join(records) + "\n]\n")


def attend(translator: Translator, lines: list[str], index: int, attending: Attending) -> dict[str, object]:
    """The record of line `index`, which counts from 0; its `line` counts from 1."""
    [source] = translator.read([lines[index]])
    output = translator.likeliest(source, len(source.ids) + attending.max_length_offset)
    return translator.attention(index + 1, source, output)


if __name__ == "__main__":
    cli.run(main)
