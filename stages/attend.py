"""Translate a few test sentences and keep the attention: runs/<system>/average/ -> data/attend/<system>/."""

import json

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
    translator = Translator.built(system)
    with files.new_folder(system.attended) as folder:
        for part, lines, _ in parts.read_tests(system.split):
            path, records = parts.paths(system.split, part)[0], []
            for index in choose(lines, attending, part):
                source = translator.read(lines[index], f"{path} line {index + 1}")
                longest = len(source) + attending.max_length_offset
                output = likeliest(translator.model, source, longest, translator.where)
                records.append(translator.attention(index + 1, source, output))
            with files.new_file(folder / f"{part}.json") as file:
                written = (json.dumps(record, ensure_ascii=False) for record in records)
                file.write("[\n" + ",\n".join(written) + "\n]\n")
            say(f"diagnosis of attention, {part}", *diagnosis.of_attention(records))


if __name__ == "__main__":
    cli.run(main)
