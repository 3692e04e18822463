"""Translate the test parts with one system: runs/<system>/average/ -> data/decode/<system>/."""

from dataclasses import replace
from itertools import compress
from pathlib import Path

from pipeline.common import files, parts
from pipeline.common.system import BEFORE, System
from pipeline.console import cli
from pipeline.console.progress import say
from pipeline.decoding.settings import Decoding
from pipeline.decoding.translator import Translator
from pipeline.evaluation import diagnosis
from pipeline.packaging import loading, start

READS = ("decode", "corpora/{corpus}.yaml:decode", "corpora/{corpus}.yaml:start")


def main(name: str) -> None:
    """Write a translation of every line of every test part, and the settings of the search.

    In `before` there are those of the package that the system starts from, if any, by the same search.
    """
    system = System.parse(name)
    decoding = Decoding.load(*READS[:2], corpus=system.corpus)
    translators = {".": Translator.built(system)}
    if base := start.load(system.corpus):
        translators[BEFORE] = loading.load(base.folder)
    training = None if base else diagnosis.TrainingText.read(system.split)
    with files.new_folder(system.decoded) as folder:
        for place, translator in translators.items():
            translate(translator, system.split, decoding, training, folder / place)
        files.write_json(folder / "decode.json", decoding.model_dump())


def translate(
    translator: Translator, split: Path, decoding: Decoding, training: diagnosis.TrainingText | None, folder: Path
) -> None:
    """Write the translations of every test part, and what they say about the system.

    With a vocabulary of whole words, a translation may contain UNK. Pairs without unknown words are then translated a
    second time, into known words only; `without_unknown` has these lines alone.
    """
    pieces, findings = translator.vocabulary, {}
    system = f", {BEFORE}" if folder.name == BEFORE else ""
    for part, lines, references in parts.read_tests(split):
        translations = translator.translate(lines, decoding, what=f"decode {part}{system}")
        files.write_lines(folder / f"{part}.txt", translations)
        encoded = pieces.encode_source(lines)
        findings[part] = diagnosis.of_part(lines, references, translations, encoded, training)
        say(f"diagnosis of {part}{system}", *findings[part])
        if pieces.whole_words:
            known = list(compress(lines, pieces.known(lines, references)))
            into_known = replace(translator, writes_unknown=False)
            translations = into_known.translate(known, decoding, what=f"decode {part}{system}, known words")
            files.write_lines(folder / "without_unknown" / f"{part}.txt", translations)
    files.write_json(folder / "diagnosis.json", findings)


if __name__ == "__main__":
    cli.run(main)
