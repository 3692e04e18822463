import shutil

import pytest

from pipeline.commands import project as here
from pipeline.commands.naming import shortest
from pipeline.files import DataError
from pipeline.params import ParamsError
from pipeline.system import System
from tests.toys import systems
from tests.toys.systems import SYSTEM


def refused(system):
    """Why a system cannot be loaded."""
    with pytest.raises(DataError) as caught:
        here.load(here.parse(system))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_built_system_is_loaded(project):
    assert here.built() == [SYSTEM]
    assert here.load(here.parse(SYSTEM)).max_pieces == systems.MAX_LENGTH - 1


def test_elsewhere_is_named(project, monkeypatch):
    monkeypatch.chdir(project / "data")
    assert refused(SYSTEM) == (
        f"{project / 'data'}: has no params.yaml; expected the project's folder, which nmt runs in"
    )


@pytest.mark.parametrize(
    "system", ["transformers", "a-b-c", "a-b-c-d-e", "../../etc-b-c-d", "a--c-d", "", SYSTEM + "\n"]
)
def test_what_is_no_id_is_named(project, system):
    begin = f"--system: must be <corpus>-<vocabulary>-<model>-<size>[-<seed>], got {system!r}; "
    assert refused(system) in {f"{begin}expected one of {SYSTEM}", f"{begin}nearest is {SYSTEM!r}"}


@pytest.mark.parametrize("part", ["transformer", "prenorm-tiny", "bpe_toy-transformer_prenorm-tiny", "toy"])
def test_a_part_of_the_id_is_enough(project, part):
    assert here.parse(part).id == SYSTEM


def test_a_part_of_several_ids_is_one_line(project):
    other = SYSTEM.replace("transformer_prenorm", "transformer_postnorm")
    shutil.copytree(project / "runs" / SYSTEM, project / "runs" / other)
    assert here.parse("prenorm").id == SYSTEM
    assert refused("transformer") == (
        "--system: must mean one system, got 'transformer', a part of 2; "
        "expected one of transformer_postnorm, transformer_prenorm"
    )


def test_what_is_no_id_where_nothing_is_built(project):
    shutil.rmtree(project / "runs")
    assert refused("gru") == (
        "--system: must be <corpus>-<vocabulary>-<model>-<size>[-<seed>], got 'gru'; "
        "expected a system that `dvc repro` builds"
    )


@pytest.mark.parametrize(
    ("system", "fault"),
    [
        ("tory-bpe_toy-rnn_encdec-tiny", "unknown corpus 'tory', got 'tory-bpe_toy-rnn_encdec-tiny'; nearest is 'toy'"),
        (
            "toy-words-rnn_encdec-tiny",
            "unknown vocabulary 'words', got 'toy-words-rnn_encdec-tiny'; expected one of bpe_toy",
        ),
        (
            "toy-bpe_toy-transformer_prenrm-tiny",
            "unknown model 'transformer_prenrm', got 'toy-bpe_toy-transformer_prenrm-tiny'; "
            "nearest is 'transformer_prenorm'",
        ),
        (
            "toy-bpe_toy-transformer_prenorm-huge",
            "unknown size 'huge', got 'toy-bpe_toy-transformer_prenorm-huge'; expected one of tiny",
        ),
    ],
)
def test_a_name_that_the_catalogue_lacks_is_named(project, system, fault):
    assert refused(system) == f"--system: {fault}; built are {SYSTEM}"


def test_what_is_not_built_says_how_to_build_it(project):
    shutil.rmtree(project / "runs" / SYSTEM / "average")
    assert here.built() == []
    assert refused(SYSTEM) == f"--system: not built yet, got {SYSTEM!r}; run `dvc repro average@{SYSTEM}`"


def test_what_is_not_chosen_says_how_to_choose_it(project):
    system = "novel-bpe_toy-rnn_encdec-small"
    assert refused(system) == (
        f"--system: not built yet, got {system!r}; name corpora: novel, models: rnn_encdec, sizes: small in `build` of "
        f"params.yaml, then run `dvc repro average@{system}`"
    )


def test_a_further_seed_is_built_by_its_own_stage(project):
    system = f"{SYSTEM}-2"
    command = f"run `dvc repro average_seed@{system}`"
    begin = f"--system: not built yet, got {system!r}; "
    assert refused(system) == f"{begin}name more_seeds: 2 in `build` of params.yaml, then {command}"
    text = (project / "params.yaml").read_text()
    (project / "params.yaml").write_text(text.replace("more_seeds: []", "more_seeds: [2]"))
    assert refused(system) == f"{begin}{command}"


def test_a_further_seed_translates(project):
    """By its own name; the name of the system means the first training."""
    shutil.copytree(project / "runs" / SYSTEM, project / "runs" / f"{SYSTEM}-2")
    assert (here.parse("prenorm").id, here.parse("prenorm-tiny-2").id) == (SYSTEM, f"{SYSTEM}-2")
    here.load(here.parse(f"{SYSTEM}-2"))


def test_a_part_with_a_further_seed_is_no_id(project):
    """Though it has as many words, and is what the shell proposes where there are two vocabularies."""
    other = SYSTEM.replace("-bpe_toy-", "-words-")
    for name in (other, f"{SYSTEM}-2", f"{other}-2"):
        shutil.copytree(project / "runs" / SYSTEM, project / "runs" / name)
    (project / "data/vocabulary" / "-".join(other.split("-")[:2])).mkdir()
    ids = here.built()
    assert len(ids) == 4
    assert shortest(f"{SYSTEM}-2", ids).count("-") == 3
    assert [here.parse(shortest(name, ids)).id for name in ids] == ids
    unbuilt = "-".join([*SYSTEM.split("-")[:3], "tin"])  # which other ids have in them
    assert here.parse(unbuilt).id == unbuilt
    elsewhere = "other-" + SYSTEM.partition("-")[2]
    shutil.copytree(project / "runs" / SYSTEM, project / "runs" / f"{elsewhere}-2")
    (project / "data/vocabulary" / "-".join(elsewhere.split("-")[:2])).mkdir()
    assert here.parse(elsewhere).id == elsewhere  # is not built, though its seed 2 is
    text = f"{SYSTEM}-2".partition("-")[2]
    with pytest.raises(DataError) as caught:
        here.parse(text)
    assert str(caught.value) == (
        f"--system: must mean one system, got {text!r}, a part of 2; expected one of {elsewhere}-2, {SYSTEM}-2"
    )


def test_an_earlier_choice_stays_usable(project):
    """What was built is used, whatever the catalogue says now."""
    text = (project / "params.yaml").read_text()
    (project / "params.yaml").write_text(text.replace("transformer_prenorm", "transformer_postnorm"))
    here.load(here.parse(SYSTEM))


def test_section_decode(project):
    assert here.decoding(System.parse(SYSTEM)).beam_size == 3


def test_faults_of_params_yaml_are_named(project):
    text = (project / "params.yaml").read_text()
    (project / "params.yaml").write_text(text.replace("beam_size: 3", "beam_size: 0"))
    with pytest.raises(ParamsError, match=r"^params.yaml: decode.beam_size: should be greater than 0, got 0$"):
        here.decoding(System.parse(SYSTEM))


def test_a_corpus_may_have_its_own_settings(project):
    (project / "corpora/toy.yaml").write_text("decode: {beam_size: 9, patience: 1.0}\n")
    found = here.decoding(System.parse(SYSTEM))
    assert (found.beam_size, found.patience, found.length_penalty) == (9, 1.0, 0.6)
    assert here.decoding(System.parse(SYSTEM.replace("toy", "novel", 1))).beam_size == 3
    assert here.decoding(System.parse(SYSTEM.replace("toy", "gone", 1))).beam_size == 3  # built once, its file is gone
