"""`nmt find-corpus`: OPUS's answer, from a mirror, as items for a corpus's file."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.corpora import fetching
from pipeline.corpora.importers import opus
from pipeline.corpora.sources import Download
from tests.server import serving


def entry(corpus, pairs, **keys):
    usual = {"corpus": corpus, "version": "v1", "source": "de", "target": "en", "preprocessing": "moses"}
    usual |= {"alignment_pairs": pairs, "source_tokens": 9, "target_tokens": None, "size": 1234, "latest": "True"}
    return usual | keys


ANSWER = {
    "corpora": [
        entry("NLLB", 247_470_736),
        entry("wmt-News", 900),
        entry("wmt_news", 1000, version="v2.1"),
        entry("QED", ""),
        entry("Books", 5, preprocessing="xml"),
        entry("Europarl", 7, version="v7", latest="False"),
    ]
}
QUERY = "?source=de&target=en&preprocessing=moses&version=latest"


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """Lays an answer of OPUS's API into a mirror's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORPUS_MIRROR", "mirror")

    def lay(name, answer):
        (path := Path("mirror/opus.nlpl.eu/opusapi", name)).parent.mkdir(parents=True)
        path.write_text(json.dumps(answer))

    return lay


def test_items_are_ready_for_a_corpus_file_the_largest_last(mirror, run):
    mirror("de-en.json", ANSWER)
    said = run("find-corpus", "en", "de")
    assert said.out.startswith("# OPUS in English (en) and German (de): 4 corpora, the largest last.")
    assert "  - name: nllb  # 247,470,736 pairs, 1.2 MB\n    kind: opus\n    corpus: NLLB/v1\n" in said.out
    assert "  - name: qed  # pairs unknown, 1.2 MB\n" in said.out
    about = YAML(typ="safe").load(f"source_language: de\ntarget_language: en\nparts:\n  train:\n{said.out}")
    assert [*Download.model_validate(about).bitexts] == ["qed", "wmt_news", "wmt_news_2", "nllb"]


def test_a_pair_is_given_where_opus_writes_a_language_in_another_way(mirror, run):
    mirror("en-pt_br.json", {"corpora": [entry("TED", 5, source="en", target="pt_br")]})
    assert run("find-corpus", "pt_br", "en").out.endswith("    corpus: TED/v1\n    pair: en-pt_br\n")


def test_a_mirror_over_http_gets_the_question(monkeypatch, tmp_path, run):
    monkeypatch.chdir(tmp_path)
    with serving() as server:
        server.files[f"/m/opus.nlpl.eu/opusapi/{QUERY}"] = json.dumps(ANSWER).encode()
        monkeypatch.setenv("CORPUS_MIRROR", f"{server.address}/m/")
        assert run("find-corpus", "deu", "en").out.count("kind: opus") == 4
        assert len(server.asked) == 1
        monkeypatch.setenv("CORPUS_MIRROR", f"{server.address}/of_files_alone")
        monkeypatch.setattr(opus, "API", f"{server.address}/m/opus.nlpl.eu/opusapi/")
        assert run("find-corpus", "de", "en").status == 0


@pytest.mark.parametrize(
    ("codes", "answer", "message"),
    [
        (("dex", "en"), None, "dex: unknown language; nearest is 'de'"),
        (("de", "English"), None, "English: unknown language; nearest is 'en'"),
        (("de", "en"), {"corpora": []}, "OPUS has no corpus in German (de) and English (en); expected other codes"),
        (
            ("de", "en"),
            {"languages": []},
            "https://opus.nlpl.eu/opusapi/: no list of corpora, got KeyError 'corpora' in ",
        ),
        (("de", "en"), {"corpora": [{}]}, "https://opus.nlpl.eu/opusapi/: no list of corpora, got KeyError "),
    ],
)
def test_what_is_not_there_is_one_line(mirror, fails, codes, answer, message):
    mirror("de-en.json", answer)
    assert fails("find-corpus", *codes).startswith(message)


def test_without_a_network_it_is_one_line(monkeypatch, tmp_path, fails):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fetching, "QUESTIONS", 0)
    monkeypatch.setattr(opus, "API", "http://127.0.0.1:1/")
    assert fails("find-corpus", "de", "en").startswith("http://127.0.0.1:1/: cannot be asked, got ")
