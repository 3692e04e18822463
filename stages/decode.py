"""Translate the test parts with one system: runs/<system>/average/ -> data/decode/<system>/."""

from dataclasses import replace
from itertools import compress

from pipeline.common import files, parts
from pipeline.common.system import System
from pipeline.console import cli
from pipeline.console.progress import say
from pipeline.decoding.settings import Decoding
from pipeline.decoding.translator import Translator
from pipeline.evaluation import diagnosis

READS = ("decode", "corpora/{corpus}.yaml:decode")


def main(name: str) -> None:
    """Write a translation of every line of every test part, and the settings of the search.

    With a vocabulary of whole words, a translation may contain UNK. Pairs without unknown words are then translated a
    second time, into known words only; `without_unknown` has these lines alone.
    """
    system = System.parse(name)
    decoding = Decoding.load(*READS, corpus=system.corpus)
    translator = Translator.built(system)
    pieces, findings = translator.vocabulary, {}
    training = diagnosis.TrainingText.read(system.split)
    with files.new_folder(system.decoded) as folder:
        for part, lines, references in parts.read_tests(system.split):
            translations = translator.translate(lines, decoding, what=f"decode {part}")
            files.write_lines(folder / f"{part}.txt", translations)
            encoded = pieces.encode_source(lines)
            findings[part] = diagnosis.of_part(lines, references, translations, encoded, training)
            say(f"diagnosis of {part}", *findings[part])
            if pieces.whole_words:
                known = list(compress(lines, pieces.known(lines, references)))
                into_known = replace(translator, writes_unknown=False)
                translations = into_known.translate(known, decoding, what=f"decode {part}, known words")
                files.write_lines(folder / "without_unknown" / f"{part}.txt", translations)
        files.write_json(folder / "decode.json", decoding.model_dump())
        files.write_json(folder / "diagnosis.json", findings)


if __name__ == "__main__":
    cli.run(main)
