"""Translate the test parts with one system: runs/<system>/average/ -> data/decode/<system>/."""

from collections.abc import Sequence
from itertools import compress

from pipeline import cli, device, files, weights
from pipeline.corpora import parts
from pipeline.decoding.translate import Decoding, translate
from pipeline.models import interface
from pipeline.params import Reader
from pipeline.system import System
from pipeline.vocabularies.vocabulary import Vocabulary

READS = ("decode", "corpora/{corpus}.yaml:decode", "models.{model}.default", "models.{model}.{size}")


def main(corpus: str, vocabulary: str, model: str, size: str) -> None:
    """Write one line for every line of every test part's source, and how they were searched for.

    Where the vocabulary is of whole words, a translation may hold unknown ones, and sentences without any are
    translated a second time, into known words alone: their lines only, in `without_unknown`.
    """
    read = Reader(READS, corpus=corpus, model=model, size=size)
    found, decoding = interface.find(model), read(Decoding, *READS[:2])
    system = System(corpus, vocabulary, model, size)
    split, pieces = system.split, Vocabulary.load(system.vocabulary_folder)
    net = found.Model(read.own(found.Arch, *READS[2:]), source_size=pieces.source_size, target_size=pieces.target_size)
    weights.load(net, system)
    where = device.prepared()
    net = net.to(where).eval()

    def texts(lines: Sequence[str], what: str, *, unknown: bool) -> list[str]:
        """The translation of each line; with `unknown` it may hold unknown words."""
        sources = pieces.encode_source(lines)
        return pieces.decode_target(translate(net, sources, decoding, where, what, unknown=unknown))

    with files.new_folder(system.decoded) as folder:
        for part in filter(parts.is_test, parts.names(split)):
            pairs = list(parts.read(split, part))
            lines = [source for source, _ in pairs]
            translations = texts(lines, f"decode {part}", unknown=pieces.whole_words)
            files.write_lines(folder / f"{part}.txt", translations)
            if pieces.whole_words:
                known = list(compress(lines, pieces.known(lines, [target for _, target in pairs])))
                translations = texts(known, f"decode {part}, known words", unknown=False)
                files.write_lines(folder / "without_unknown" / f"{part}.txt", translations)
        files.write_json(folder / "decode.json", decoding.model_dump())


if __name__ == "__main__":
    cli.run(main)
