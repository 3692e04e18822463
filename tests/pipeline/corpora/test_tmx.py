"""Translation memories, as programs write them, and what is wrong with others."""

import gzip
import tracemalloc
import zipfile

import pytest

from pipeline.common.files import DataError
from pipeline.corpora import tmx
from pipeline.corpora.importers import local
from pipeline.corpora.readers import TextFile

OMEGAT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx11.dtd">
<tmx version="1.1">
  <header creationtool="OmegaT" segtype="sentence" adminlang="EN-US" srclang="EN-US" datatype="plaintext"/>
  <body>
    <tu><prop type="file">a.html</prop>
      <tuv lang="EN-US"><seg>Save &amp; close</seg></tuv>
      <tuv lang="DE-DE" changeid="me"><seg>Sichern &amp; schließen</seg></tuv>
    </tu>
    <tu><tuv lang="EN-US"><seg>Only one</seg></tuv></tu>
  </body>
</tmx>
"""
TRADOS = """<?xml version="1.0" encoding="UTF-16" ?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"><header srclang="EN-GB"><note>a</note></header><body>
<tu><tuv xml:lang="EN-GB"><prop type="x">no</prop><seg><ut>{\\b </ut>Press<ut>}</ut> <bpt i="1">&lt;b&gt;<sub>a</sub>
</bpt><hi>Enter</hi><ept i="1">&lt;/b&gt;</ept><ph x="1"/>.</seg></tuv><tuv xml:lang="fr"><seg>x</seg></tuv>
<tuv xml:lang="de"><seg>Drücken Sie <it pos="begin">&lt;i&gt;</it>Enter.</seg></tuv>
<tuv xml:lang="de"><seg>Enter drücken.</seg></tuv></tu></body></tmx>"""
XLIFF_TAGS = '<tmx><body><tu><tuv xml:lang="de"><seg>A<g id="1">b</g><x id="2"/>c</seg></tuv>{}</tu></body></tmx>'
ENGLISH = '<tuv xml:lang="en"><seg>Abc</seg></tuv>'


@pytest.fixture
def read(tmp_path):
    """The pairs of a memory of these bytes, German to English."""

    def pairs(content, languages=("de", "en"), name="x.tmx", member=None):
        (path := tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return [tuple(map(bytes.decode, pair)) for pair in tmx.pairs(TextFile(name, path, member), languages)]

    return pairs


def test_units_in_both_languages_are_read_and_others_counted(read, capsys):
    assert read(OMEGAT) == [("Sichern & schließen", "Save & close")]
    assert capsys.readouterr().err == "x.tmx  1 of 2 units lack de or en: left out\n"


def test_formatting_is_taken_out_and_what_is_marked_stays(read):
    assert read(TRADOS.encode("utf-16")) == [("Drücken Sie Enter.", "Press Enter.")]
    assert read(XLIFF_TAGS.format(ENGLISH)) == [("Abc", "Abc")]


def test_a_memory_may_have_a_namespace_and_characters_that_xml_has_not(read):
    """Cleaning drops, and counts, pairs with control characters."""
    memory = XLIFF_TAGS.format(ENGLISH).replace("<tmx>", '<tmx xmlns="http://www.lisa.org/tmx14">')
    assert read(memory.replace("Abc", "A&#x1F;bc")) == [("Abc", "A\x1fbc")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_a_mark_or_the_memory_says_its_encoding(read, encoding):
    """What it says is wrong where a program has written it anew, with a mark."""
    said = {"utf-16-le": "UTF-16", "cp1252": "windows-1252"}.get(encoding, "UTF-8")
    assert read(OMEGAT.replace("UTF-8", said).encode(encoding)) == [("Sichern & schließen", "Save & close")]


def test_a_memory_may_be_packed(read, tmp_path):
    assert len(read(gzip.compress(OMEGAT.encode()), name="x.tmx.gz")) == 1
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.writestr("a/x.tmx", b"\xef\xbb\xbf" + OMEGAT.encode())
    assert len(read((tmp_path / "y.zip").read_bytes(), name="y.zip", member="a/x.tmx")) == 1


def test_a_corpus_names_it_by_the_key_tmx(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my").mkdir()
    (tmp_path / "my/x.tmx").write_text(OMEGAT, encoding="utf-8")
    source = local.Source.model_validate({"kind": "local", "tmx": "my/x.tmx"})
    [(texts, pairs)] = local.bitexts(source, ("de", "en"), None)
    assert ([*map(str, texts)], len([*pairs])) == (["my/x.tmx"], 1)


@pytest.mark.parametrize(
    ("languages", "available", "sides"),
    [
        (("de", "en"), ("en-US", "de-DE"), ("de-DE", "en-US")),
        (("de-AT", "en"), ("de", "en"), ("de", "en")),
        (("de", "en"), ("de-AT", "de", "en"), ("de", "en")),
        (("de", "en"), ("de-AT", "de-CH", "en"), ("de-AT", "en")),
        (("zh-TW", "en"), ("zh-CN", "en"), None),
        (("pt-BR", "pt-PT"), ("pt", "en"), None),
        (("pt", "pt-BR"), ("pt-BR", "pt-PT"), ("pt-PT", "pt-BR")),
        (("deu", "eng"), ("de", "en"), ("de", "en")),
    ],
)
def test_a_language_is_found_with_or_without_its_region(languages, available, sides):
    assert tmx.matching(languages, available) == sides


SEGMENT = '<tmx><body>\n<tu><tuv lang="de"><seg>{}</seg></tuv></tu></body></tmx>'
LAUGHS = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>\n' + SEGMENT.format("&b;")
FILE = '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n' + SEGMENT.format("&a;")
SKIPPED = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n' + SEGMENT.format("&nbsp;")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LAUGHS, "line 3: is no translation memory, got the entity 'b'; expected a whole TMX"),
        (FILE, "line 3: is no translation memory, got the entity 'a'; expected a whole TMX"),
        (SKIPPED, "line 3: is no translation memory, got the entity 'nbsp'; expected"),
        (OMEGAT[:-30], "line 10: is no translation memory, got expected '>'; expected a whole TMX"),
        (OMEGAT.replace("&amp;", "&"), "line 7: is no translation memory, got xmlParseEntityRef: no name"),
        (OMEGAT.encode("latin-1"), "line 8: is no translation memory, got Invalid bytes in character encoding"),
        ("", "line 0: is no translation memory, got no element found"),
        ("<xliff/>", "line 1: is no translation memory, got <xliff>; expected a whole TMX"),
        ("<tmx/>", "has no unit in both de and en, got no unit; expected some"),
        (OMEGAT.replace("DE-DE", "fr"), "has no unit in both de and en, got en-US and fr, en-US; expected some"),
    ],
)
def test_what_is_wrong_is_one_line(read, content, message):
    with pytest.raises(DataError) as error:
        read(content)
    assert str(error.value).startswith(f"x.tmx {message}" if message.startswith("line") else f"x.tmx: {message}")


def test_a_long_memory_is_read_in_constant_memory(tmp_path):
    unit = f'<tu><tuv xml:lang="de"><seg>{"Satz " * 20}</seg></tuv>{ENGLISH}</tu>\n'
    (tmp_path / "x.tmx").write_text(f"<tmx><body>{unit * 50_000}</body></tmx>")
    tracemalloc.start()
    assert sum(1 for _ in tmx.pairs(TextFile("x.tmx", tmp_path / "x.tmx"), ("de", "en"))) == 50_000
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
