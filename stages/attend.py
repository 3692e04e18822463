"""Translate a few test sentences and keep the attention: runs/<system>/average/ -> data/attend/<system>/."""

import json
from pathlib import Path

from pipeline.common import files, parts
from pipeline.common.system import System
from pipeline.console import cli
from pipeline.console.progress import say
from pipeline.decoding.attending import Attending, choose, likeliest
from pipeline.decoding.translator import Translator
from pipeline.evaluation import diagnosis

READS = ("attend",)


def main(name: str) -> None:
    """Write a list of sentences for every test part, each with its pieces, translation and attention weights."""
    attending = Attending.load(*READS)
    system = System.parse(name)
    split = system.split
    translator = Translator.built(system)
    with files.new_folder(system.attended) as folder:
        for part in filter(parts.is_test, parts.names(split)):
            path = parts.paths(split, part)[0]
            lines = [source for source, _ in parts.read(split, part)]
            records = [
                attend(translator, path, index + 1, lines[index], attending) for index in choose(lines, attending, part)
            ]
            with files.new_file(folder / f"{part}.json") as file:
                written = (json.dumps(record, ensure_ascii=False) for record in records)
                file.write("[\n" + ",\n".join(written) + "\n]\n")
            say(f"diagnosis of attention, {part}", *diagnosis.of_attention(records))


def attend(translator: Translator, path: Path, number: int, line: str, attending: Attending) -> dict[str, object]:
    """The record of one line of a file."""
    source = translator.read(line, f"{path} line {number}")
    output = likeliest(translator.model, source, len(source) + attending.max_length_offset, translator.where)
    return translator.attention(number, source, output)


if __name__ == "__main__":
    cli.run(main)
