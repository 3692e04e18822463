"""Translate the test parts with one system: runs/<system>/average/ -> data/decode/<system>/."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline import cli, ctranslate2_export, device, files
from pipeline.data import parts
from pipeline.data.vocabulary import Vocabulary
from pipeline.decoding import ctranslate2_search
from pipeline.decoding.translate import Decoding, Source, translate
from pipeline.models import interface
from pipeline.params import Reader

READS = ("decode", "models.{model}.{size}.arch")


def main(corpus: str, vocabulary: str, model: str, size: str) -> None:
    """Write one line for every line of every test part's source, and how they were searched for."""
    from safetensors.torch import load_file  # which loads torch: after `cli`

    read = Reader(READS, model=model, size=size)
    found, decoding = interface.find(model), read(Decoding, READS[0])
    system, split = f"{corpus}-{vocabulary}-{model}-{size}", Path("data/split", corpus)
    pieces = Vocabulary.load(Path("data/vocabulary", f"{corpus}-{vocabulary}"))
    net = found.Model(read(found.Arch, READS[1]), source_size=pieces.source_size, target_size=pieces.target_size)
    net.load_state_dict(load_file(Path("runs", system, "average/model.safetensors")))
    with files.new_folder(Path("data/decode", system)) as folder:
        for part in filter(parts.is_test, parts.names(split)):
            sources = pieces.encode_source(list(files.read_lines(parts.paths(split, part)[0])))
            translations = search(net, pieces, sources, decoding, f"decode {part}")
            files.write_lines(folder / f"{part}.txt", pieces.decode_target(translations))
        files.write_json(folder / "decode.json", decoding.model_dump())


def search(net: Any, pieces: Vocabulary, sources: Sequence[Source], decoding: Decoding, what: str) -> list[list[int]]:
    """The pieces of each source's translation, found by the engine that section `decode` names."""
    if decoding.engine == "torch":
        where = device.prepared()
        return translate(net.to(where).eval(), sources, decoding, where, what)
    with TemporaryDirectory() as name:
        number = ctranslate2_search.positions(sources, decoding)
        ctranslate2_export.save(net, pieces, Path(name), quantization="float32", positions=number)
        return ctranslate2_search.translate(Path(name), sources, decoding, what)


if __name__ == "__main__":
    cli.run(main)
