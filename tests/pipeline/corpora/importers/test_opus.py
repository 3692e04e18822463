"""Corpora of OPUS by name, from a mirror's folder or a server."""

import io
import re
import zipfile

import pytest

from pipeline.common.files import DataError
from pipeline.corpora.archives import Damaged
from pipeline.corpora.fetching import Downloads
from pipeline.corpora.importers import opus
from tests.server import serving

TEXTS = {"README": b"", "Toy.de-en.de": b"Ja.\nNein.\n", "Toy.de-en.en": b"Yes.\nNo.\n", "Toy.de-en.xml": b"<x>"}
PAIRS = [("Ja.", "Yes."), ("Nein.", "No.")]


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.fixture
def read(tmp_path):
    """The pairs of Toy/v1, whose zip has these members or bytes."""

    def pairs(members, languages=("de", "en"), file="de-en", **keys):
        (path := tmp_path / f"object.pouta.csc.fi/OPUS-Toy/v1/moses/{file}.txt.zip").parent.mkdir(parents=True)
        path.write_bytes(members if isinstance(members, bytes) else zipped(members))
        source = opus.Source.model_validate({"kind": "opus", "corpus": "Toy/v1", **keys})
        source.check_languages(languages)
        [(_, found)] = opus.bitexts(source, languages, Downloads(tmp_path / "downloads", str(tmp_path)))
        return [tuple(map(bytes.decode, each)) for each in found]

    return pairs


@pytest.mark.parametrize(
    ("members", "languages", "file", "keys", "pairs"),
    [
        (TEXTS, ("de", "en"), "de-en", {}, PAIRS),
        (TEXTS, ("en", "de"), "de-en", {}, [pair[::-1] for pair in PAIRS]),
        ({"toy-1/x.de": b"Ja.\n", "toy-1/x.en": b"Yes.\n"}, ("deu", "en"), "de-en", {}, PAIRS[:1]),
        ({"Toy.en-zh_CN.en": b"Yes.", "Toy.en-zh_CN.zh_CN": b"x"}, ("zh-CN", "en"), "en-zh_CN", {}, [("x", "Yes.")]),
        ({"Toy.en-pt_br.en": b"a", "T.pt_br": b"b"}, ("en", "pt"), "en-pt_br", {"pair": "en-pt_br"}, [("a", "b")]),
    ],
)
def test_the_members_of_both_languages_are_found(read, members, languages, file, keys, pairs):
    assert read(members, languages, file, **keys) == pairs


@pytest.mark.parametrize(
    ("members", "error", "message"),
    [
        (b"<html>", Damaged, "damaged or no zip file, got File is not a zip file; expected a whole one"),
        (TEXTS | {"Toy.de-en.en": b"Yes.\n"}, DataError, "Toy.de-en.en 1: the two files must be parallel"),
        (
            {"Toy.de-en.de": b"a"},
            DataError,
            "has no text Toy.de-en.en, got Toy.de-en.de; expected one that ends in .en",
        ),
        (
            {"a.de": b"", "b.de": b""},
            DataError,
            "has no text Toy.de-en.de, got a.de, b.de; expected one that ends in .de",
        ),
    ],
)
def test_an_odd_archive_is_one_line(read, members, error, message):
    with pytest.raises(error) as caught:
        read(members)
    assert str(caught.value).endswith(message)


def test_a_pair_that_opus_has_not_is_said_with_the_command_that_lists_them(tmp_path, monkeypatch):
    source = opus.Source.model_validate({"kind": "opus", "corpus": "Toy/v1"})
    with serving() as server:
        monkeypatch.setattr(opus, "ADDRESS", f"{server.address}/{{corpus}}/{{pair}}.txt.zip")
        with pytest.raises(DataError) as error:
            list(opus.bitexts(source, ("de", "en"), Downloads(tmp_path)))
    expected = (
        "/Toy/v1/de-en.txt.zip: the server answered 404 Not Found; expected a file; `nmt find-corpus de en` lists"
    )
    assert expected in str(error.value)


@pytest.mark.parametrize("keys", [{"corpus": "Toy"}, {"corpus": "../v1"}, {"corpus": "Toy/.."}, {"pair": "de"}])
def test_a_name_that_is_no_corpus(keys):
    [fault] = opus.Source.faults({"kind": "opus", "corpus": "Toy/v1"} | keys, "d")
    assert re.match(r"params.yaml: d.(corpus: must be a corpus and its version|pair: String should match)", fault)


def test_a_pair_of_other_languages():
    source = opus.Source.model_validate({"kind": "opus", "corpus": "Toy/v1", "pair": "de-fr"})
    with pytest.raises(ValueError, match=r"^pair: must be of de and en, got 'de-fr'$"):
        source.check_languages(("de", "en"))
