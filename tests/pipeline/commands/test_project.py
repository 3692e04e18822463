"""Which system `--system` names, and where it is."""

import shutil

import pytest

from pipeline.commands import project as here
from pipeline.common.files import DataError
from pipeline.common.system import System
from tests.toys import systems
from tests.toys.systems import SYSTEM

OTHER = SYSTEM.replace("prenorm", "postnorm")


def fault(text: str) -> str:
    with pytest.raises(DataError) as caught:
        here.parse(text)
    return str(caught.value)


@pytest.mark.parametrize("text", [SYSTEM, "transformer", "prenorm-tiny", "bpe_toy-transformer_prenorm-tiny", "toy"])
def test_a_part_of_the_id_is_enough(project, text):
    assert here.parse(text).id == SYSTEM
    assert here.load(here.parse(text)).max_pieces == systems.MAX_LENGTH - 1


def test_a_part_of_several_ids_is_refused(project):
    shutil.copytree(project / "runs" / SYSTEM, project / "runs" / OTHER)
    expected = "got 'transformer', a part of 2; expected one of transformer_postnorm, transformer_prenorm"
    assert fault("transformer") == f"--system: must mean one system, {expected}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("transformer_prenrm", f"no built system has this name, got 'transformer_prenrm'; nearest is {SYSTEM!r}"),
        (SYSTEM.replace("prenorm", "prenrm"), f"got 'toy-bpe_toy-transformer_prenrm-tiny-1'; nearest is {SYSTEM!r}"),
        ("", f"no built system has this name, got ''; expected one of {SYSTEM}"),
    ],
)
def test_an_unknown_name_brings_the_nearest(project, text, expected):
    assert fault(text).endswith(expected)


def test_what_build_names_is_not_built_yet(project):
    shutil.rmtree(project / "runs")
    assert fault("prenorm") == "--system: not built yet, got 'prenorm'; expected one that `nmt repro` has built"


def test_a_package_translates_while_its_run_is_rebuilt(project, monkeypatch):
    shutil.rmtree(project / "runs" / SYSTEM / "train")
    package = System.parse(SYSTEM).packaged
    package.mkdir(parents=True)
    monkeypatch.setattr(here.loading, "load", lambda folder: folder)
    assert here.load(here.parse("prenorm")) == package


def test_elsewhere_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fault(SYSTEM) == f"{tmp_path}: has no params.yaml; expected the project's folder, which nmt runs in"


IDS = ["a-bpe-gru-tiny-1", "a-bpe-gru_deep-tiny-1", "a-bpe-gru_deep-small-1", "a-bpe-gru-tiny-2", "b-bpe-lstm-tiny-2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gru", IDS[:1]),  # a whole name comes before those that begin with it, the first seed before others
        ("gru-tiny-2", IDS[3:4]),
        ("gru_deep", IDS[1:3]),
        ("deep-small", IDS[2:3]),
        ("lst", IDS[4:]),
        ("bpe", [*IDS[:3], IDS[4]]),
        ("rnn", []),
        ("", []),
    ],
)
def test_what_a_part_stands_for(text, expected):
    assert here.matching(text, IDS) == expected


def test_the_shortest_name_is_unambiguous():
    assert [here.shortest(name, IDS) for name in IDS] == [
        "gru",
        "gru_deep-tiny",
        "gru_deep-small",
        "gru-tiny-2",
        "lstm",
    ]


def test_a_corpus_may_have_its_own_settings(project):
    (project / "corpora/toy.yaml").write_text("decode: {beam_size: 9}\n")
    assert here.load(System.parse(SYSTEM)).decoding.beam_size == 9
    (project / "corpora/toy.yaml").unlink()
    assert here.load(System.parse(SYSTEM)).decoding.beam_size == 3
