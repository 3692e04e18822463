"""The project's own params.yaml is right, and every fault put into it is named, by its text."""

from copy import deepcopy

import pytest
from ruamel.yaml import YAML

from pipeline import catalogue
from pipeline.params import ParamsError, read_yaml


@pytest.fixture(scope="session")
def whole(project_root):
    """What the project's params.yaml and corpora/*.yaml hold, by their paths."""
    paths = [project_root / "params.yaml", *sorted((project_root / "corpora").glob("*.yaml"))]
    return {path.relative_to(project_root).as_posix(): read_yaml(path) for path in paths}


@pytest.fixture
def faults(whole, shipped_params, tmp_path, monkeypatch):
    """What `check` says after some edits: {key: value}, None to leave it out, `<file>:` before a key elsewhere."""
    monkeypatch.chdir(tmp_path)

    def faults_of(edits):
        nodes = deepcopy(whole)
        for place, value in edits.items():
            file, _, name = place.rpartition(":")
            *path, last = name.split(".")
            inner = nodes[file or "params.yaml"]
            for key in path:
                inner = inner[key]
            if value is None:
                del inner[last]
            else:
                inner[last] = None if value is LEFT_EMPTY else value
        (tmp_path / "corpora").mkdir()
        for file, node in nodes.items():
            YAML(typ="safe").dump(node, tmp_path / file)
        with pytest.raises(ParamsError) as error:
            catalogue.check()
        return str(error.value).splitlines()

    return faults_of


LEFT_EMPTY = object()
PRENORM = "models.transformer_prenorm.tiny"
PHRASEBOOK = "corpora/phrasebook_fr_en.yaml:"
TRAINING = "training.phrasebook_fr_en"
TEACHER = {"corpus": "multi30k_de_en", "vocabulary": "bpe_2k", "model": "rnnsearch", "size": "tiny"}
PAIR = {
    "corpus": "phrasebook_fr_en",
    "vocabulary": "bpe_2k",
    "first": "rnnsearch-tiny",
    "second": "gru_attention-tiny",
}
WORD = {"kind": "word", "words": 30000, "sentences": 1000, "seed": 1}


def test_own_files_are_right(project_root, monkeypatch):
    monkeypatch.chdir(project_root)
    catalogue.check()


def test_hidden_files_are_no_corpora(tmp_path, monkeypatch):
    """Emacs keeps a dangling link beside a file that is edited; macOS a file with its attributes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpora").mkdir()
    for name in ("toy", "._toy"):
        (tmp_path / f"corpora/{name}.yaml").touch()
    (tmp_path / "corpora/.#toy.yaml").symlink_to("someone@somewhere.123")
    assert catalogue.corpus_names() == ["toy"]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("decode", None, "decode: is missing"),
        ("decod", {}, "decod: unknown key; nearest is 'decode'"),
        (
            "zzz",
            1,
            "zzz: unknown key; expected one of attend, average, build, clean, decode, distill, ensembles, models, "
            "report, score, split, training, vocabularies",
        ),
        (f"{PHRASEBOOK}cleen", {}, f"{PHRASEBOOK}cleen: unknown key; nearest is 'clean'"),
        (f"{PHRASEBOOK}training", {}, f"{PHRASEBOOK}training: unknown key; it belongs in params.yaml"),
        ("parts", {}, "parts: unknown key; it belongs in corpora/<corpus>.yaml"),
        ("split.carve_by", "line", "split.carve_by: unknown key; it belongs in corpora/<corpus>.yaml"),
        ("models.transformer_prenrm", {}, "models.transformer_prenrm: unknown key; nearest is 'transformer_prenorm'"),
        (f"{PRENORM}.widht", 4, f"{PRENORM}.widht: unknown key; nearest is 'width'"),
        (f"{PRENORM}.heds", 4, f"{PRENORM}.heds: unknown key; nearest is 'heads'"),
        (f"{PRENORM}.heads", 6, f"{PRENORM}.heads: must divide width 128, got 6"),
        (f"{PRENORM}.heads", "4", f"{PRENORM}.heads: should be a valid integer, got '4'"),
        (f"{PRENORM}.dropout", 1.5, f"{PRENORM}.dropout: should be less than or equal to 0.99, got 1.5"),
        (
            f"{PRENORM}.schedule.kind",
            "noma",
            f"{PRENORM}.schedule.kind: unknown choice, got 'noma'; nearest is 'noam'",
        ),
        (
            f"{PRENORM}.schedule.warmpu",
            5,
            f"{PRENORM}.schedule.warmpu: unknown key; nearest is 'warmup'",
        ),
        (
            f"{PHRASEBOOK}parts.test.num_pairs",
            0,
            f"{PHRASEBOOK}parts.test.num_pairs: should be greater than or equal to 1, got 0",
        ),
        (
            f"{TRAINING}.validation_interval",
            7,
            f"{TRAINING}.validation_interval: must be a multiple of checkpoint_interval 20, got 7",
        ),
        (
            f"{PHRASEBOOK}split.test_share",
            0.1,
            f"{PHRASEBOOK}split.test_share: the corpus brings a test part, got 0.1; expected 0.0",
        ),
        ("vocabularies.my-own", {}, "vocabularies.my-own: should be letters, digits and underscores, got 'my-own'"),
        (
            "vocabularies.bpe_2k.kind",
            "bep",
            "vocabularies.bpe_2k.kind: unknown choice, got 'bep'; nearest is 'bpe'",
        ),
        ("vocabularies.bpe_2k.kind", None, "vocabularies.bpe_2k.kind: is missing"),
        (
            "vocabularies.bpe_2k.kind",
            "word",
            "vocabularies.bpe_2k.size: unknown key; expected one of kind, seed, sentences, words",
        ),
        (
            "vocabularies.toy",
            WORD | {"words": 0},
            "vocabularies.toy.words: should be greater than or equal to 1, got 0",
        ),
        ("decode.beam_size", 0, "decode.beam_size: should be greater than 0, got 0"),
        ("average.tiny.checkpoints", 2.5, "average.tiny.checkpoints: should be a valid integer, got 2.5"),
        ("score.metrics", ["bleu", "crf"], "score.metrics.1: should be 'bleu', 'chrf' or 'ter', got 'crf'"),
        (
            f"{PHRASEBOOK}decode.beam_sise",
            4,
            f"{PHRASEBOOK}decode.beam_sise: unknown key; nearest is 'beam_size'",
        ),
        (f"{PHRASEBOOK}decode.beam_size", 0, f"{PHRASEBOOK}decode.beam_size: should be greater than 0, got 0"),
        (
            f"{PHRASEBOOK}decode.beam_size",
            LEFT_EMPTY,
            f"{PHRASEBOOK}decode.beam_size: should be a valid integer, got None",
        ),
        (f"{PHRASEBOOK}decode", None, f"{PHRASEBOOK}decode: is missing"),
        ("average.tiny", None, "average.tiny: is missing; expected a number of checkpoints for each size"),
        ("average.tiny.checkpoints", 0, "average.tiny.checkpoints: should be greater than 0, got 0"),
        ("average.tinny", {"checkpoints": 2}, "average: unknown size, got 'tinny'; nearest is 'tiny'"),
        (
            "average.tiny.checkpoints",
            9,
            "average.tiny.checkpoints: must not exceed training.default.last_checkpoints 8, got 9",
        ),
        (
            f"{TRAINING}.last_checkpoints",
            1,
            f"average.tiny.checkpoints: must not exceed {TRAINING}.last_checkpoints 1, got 2",
        ),
        (
            "models.bilstm_attention.tiny.r_drop",
            3.0,
            "models.bilstm_attention.tiny.r_drop: has no effect without dropout, got 3.0; expected 0.0",
        ),
        (
            "build.more_seeds",
            [2, 1],
            "build.more_seeds: must differ from training.default.seed of phrasebook_fr_en, got 1; expected other seeds",
        ),
        (
            "distill.teachers",
            {"phrasebook_fr": TEACHER},
            "distill.teachers.phrasebook_fr: not in build.corpora, got 'phrasebook_fr'; nearest is 'phrasebook_fr_en'",
        ),
        (
            "distill.teachers",
            {"phrasebook_fr_en": TEACHER | {"model": "rnn_search"}},
            "distill.teachers.phrasebook_fr_en.model: not in build.models, got 'rnn_search'; nearest is 'rnnsearch'",
        ),
        (
            "distill.teachers",
            {"phrasebook_fr_en": TEACHER | {"corpus": "phrasebook_fr_en"}},
            "distill.teachers.phrasebook_fr_en: its teacher is trained on 'phrasebook_fr_en' in the end; "
            "expected a teacher from another corpus",
        ),
        (
            "distill.teachers",
            {"phrasebook_fr_en": TEACHER | {"corpus": "multi30k_de_en"}},
            "distill.teachers.phrasebook_fr_en.corpus: translates de-en, got 'multi30k_de_en'; "
            "expected a corpus of fr-en",
        ),
        (
            "distill.keep_references",
            ["phrasebook_fr_en"],
            "distill.keep_references: has no teacher, got 'phrasebook_fr_en'; expected a name in distill.teachers",
        ),
        (
            "distill",
            {"teachers": {"phrasebook_fr_en": TEACHER}, "keep_references": ["phrasebook_fr_em"]},
            "distill.keep_references: has no teacher, got 'phrasebook_fr_em'; nearest is 'phrasebook_fr_en'",
        ),
        ("distill.teachers", {"phrasebook_fr_en": {}}, "distill.teachers.phrasebook_fr_en.corpus: is missing"),
        ("ensembles.pairs", {"two": {}}, "ensembles.pairs.two.corpus: is missing"),
        (
            "ensembles.pairs",
            {"two": PAIR | {"second": "rnnsearch-tiny-2"}},
            "ensembles.pairs.two.second: not a system of `build`, got 'phrasebook_fr_en-bpe_2k-rnnsearch-tiny-2'; "
            "nearest is 'phrasebook_fr_en-bpe_2k-rnnsearch-tiny'",
        ),
        (
            "ensembles.pairs",
            {"two": PAIR | {"second": PAIR["first"]}},
            "ensembles.pairs.two: must be two systems, got 'rnnsearch-tiny' twice",
        ),
        (
            "ensembles.pairs",
            {"two": PAIR | {"first": "rnnsearch"}},
            "ensembles.pairs.two.first: must be <model>-<size>[-<seed>], got 'rnnsearch'",
        ),
        (
            "ensembles.pairs",
            {"multi30k_de_en": PAIR},
            "ensembles.pairs.multi30k_de_en: must not have the name of a corpus, got 'multi30k_de_en'; "
            "expected another name",
        ),
        (
            "training.default",
            None,
            "training.default: is missing; expected the values that a corpus may replace, {} for none",
        ),
        (
            TRAINING,
            None,
            f"{TRAINING}: is missing; expected the keys that differ from training.default, or {{}}",
        ),
        ("training.default.updates", None, "training.eng_fra_fr_en.updates: is missing"),
        (
            "models.rnnsearch.default",
            None,
            "models.rnnsearch.default: is missing; expected the values that a size may replace, {} for none",
        ),
        ("models.rnnsearch.default.maxout", None, "models.rnnsearch.small.maxout: is missing"),
        ("report", [], "report: should be a mapping, got []"),
        ("training", None, "training: is missing"),
    ],
)
def test_fault_of_a_section(faults, key, value, said):
    assert line(said) in faults({key: value})


def line(said):
    """The line that says so, of a key that may stand after `<file>:`."""
    return said.replace(".yaml:", ".yaml: ", 1) if said.startswith("corpora/") else f"params.yaml: {said}"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("corpora", ["phrasebook_fr"], "unknown corpus, got 'phrasebook_fr'; nearest is 'phrasebook_fr_en'"),
        ("vocabularies", ["bpe_2", "bpe_2k"], "unknown vocabulary, got 'bpe_2'; nearest is 'bpe_2k'"),
        ("models", ["transformer_prenrm"], "unknown model, got 'transformer_prenrm'; nearest is 'transformer_prenorm'"),
        ("models", ["transformer-prenorm"], "should be letters, digits and underscores, got 'transformer-prenorm'"),
        ("models", ["transformer_prenorm"] * 2, "must name each once, got transformer_prenorm more than once"),
        ("sizes", ["smal"], "unknown size of transformer_prenorm, got 'smal'; nearest is 'small'"),
        ("sizes", "tiny", "should be a valid list, got 'tiny'"),
        ("sizes", [], "should have at least 1 of them, got []"),
    ],
)
def test_fault_of_a_choice(faults, key, value, said):
    where = f"params.yaml: build.{key}.0" if "letters" in said else f"params.yaml: build.{key}"
    found = faults({"build.models": ["transformer_prenorm"], f"build.{key}": value})
    assert found == [f"{where}: {said}"]


def test_size_that_one_of_two_models_has(faults, whole):
    known = sorted(set(whole["params.yaml"]["models"]["transformer_prenorm"]) - {"default"})
    both = ["transformer_prenorm", "transformer_postnorm"]
    assert faults({"build.models": both, "build.sizes": ["tutorial"]}) == [
        "params.yaml: build.sizes: unknown size of transformer_prenorm, got 'tutorial'; "
        f"expected one of {', '.join(known)}"
    ]


def test_name_like_no_other_is_answered_with_all(faults, whole):
    assert faults({"build.vocabularies": ["zzz"]}) == [
        f"params.yaml: build.vocabularies: unknown vocabulary, got 'zzz'; "
        f"expected one of {', '.join(sorted(whole['params.yaml']['vocabularies']))}"
    ]


def test_tied_model_with_a_separate_vocabulary(faults):
    assert faults({"build.vocabularies": ["bpe_2k", "unigram_5k_separate"]}) == [
        "params.yaml: build: transformer_prenorm tiny ties source and target embeddings, which unigram_5k_separate "
        "does not share; expected a joint vocabulary or tied_embeddings: none|output"
    ]


def test_tied_model_with_a_word_vocabulary(faults):
    assert faults({"vocabularies.toy_words": WORD, "build.vocabularies": ["bpe_2k", "toy_words"]}) == [
        "params.yaml: build: transformer_prenorm tiny ties source and target embeddings, which toy_words "
        "does not share; expected a joint vocabulary or tied_embeddings: none|output"
    ]


def test_all_faults_of_all_files_at_once(faults):
    edits = {
        "build.models": ["transformer_prenorm", "transformer"],
        f"{PHRASEBOOK}clean.max_words": 0,
        f"{PHRASEBOOK}split.validation_share": 0.5,
        f"{PRENORM}.heads": 3,
        "vocabularies.bpe_2k.size": None,
        "report.sentences": "ten",
    }
    file = "corpora/phrasebook_fr_en.yaml"
    assert faults(edits) == [
        "params.yaml: vocabularies.bpe_2k.size: is missing",
        "params.yaml: report.sentences: should be a valid integer, got 'ten'",
        f"{file}: clean.max_words: should be greater than or equal to 1, got 0",
        f"params.yaml: {PRENORM}.heads: must divide width 128, got 3",
        "params.yaml: build.models: unknown model, got 'transformer'; nearest is 'transformer_modern'",
        f"{file}: split.validation_share: the corpus brings a validation part, got 0.5; expected 0.0",
    ]


def test_sections_of_the_wrong_type_break_nothing(faults):
    names = ("build", "clean", "split", "training", "vocabularies", "models", "average", "decode", "score", "attend")
    found = faults(dict.fromkeys((*names, "report"), 3))
    assert sorted(found) == sorted(f"params.yaml: {name}: should be a mapping, got 3" for name in (*names, "report"))


def test_parts_of_the_wrong_type_break_nothing(faults):
    inner = {f"{PHRASEBOOK}split": 1, f"{PHRASEBOOK}parts": [], "models.transformer_prenorm": 2, TRAINING: 5}
    file = "corpora/phrasebook_fr_en.yaml"
    assert faults(inner | {"vocabularies.bpe_2k": "x"}) == [
        f"params.yaml: {TRAINING}: should be a mapping, got 5",
        "params.yaml: vocabularies.bpe_2k: should be a mapping, got 'x'",
        "params.yaml: models.transformer_prenorm: should be a mapping, got 2",
        f"{file}: parts: should be a mapping, got []",
        f"{file}: split: should be a mapping, got 1",
        "params.yaml: build.sizes: unknown size of transformer_prenorm, got 'tiny'",
    ]


def test_a_file_that_is_no_yaml_is_named_with_the_other_faults(tmp_path, faults, monkeypatch):
    faults({"decode.beam_size": 0, "build.corpora": ["broken"]})
    (tmp_path / "corpora/broken.yaml").write_text("a: [")
    (tmp_path / "corpora/my-own.yaml").write_text("{}")
    with pytest.raises(ParamsError) as error:
        catalogue.check()
    found = str(error.value).splitlines()
    assert found[0].startswith("corpora/broken.yaml line 1 column 5: not valid YAML, ")
    assert "corpora/my-own.yaml: must be named in letters, digits and underscores, got 'my-own'" in found
    assert "params.yaml: decode.beam_size: should be greater than 0, got 0" in found
    assert not any("unknown corpus" in line for line in found)


def test_files_of_ones_own_stand_where_dvc_watches_them(faults):
    own = {"kind": "local", "source": "/data/x.fr", "target": "my/x.en"}
    assert faults({f"{PHRASEBOOK}parts.train": own}) == [
        "corpora/phrasebook_fr_en.yaml: parts.train.source: must be in my/, which DVC watches, "
        "got '/data/x.fr'; expected my/x.fr, or a link there"
    ]


@pytest.mark.parametrize(
    ("key", "value", "most"),
    [
        (f"{PRENORM}.width", 10**12, 65536),
        (f"{PRENORM}.feed_forward", 10**6, 65536),
        (f"{PRENORM}.decoder_layers", 1001, 1000),
        ("models.rnnsearch.tiny.alignment", 10**6, 65536),
        ("models.rnn_encdec.tiny.maxout", 10**6, 65536),
        ("models.gru_attention.tiny.encoder_width", 10**6, 65536),
        ("models.gru_attention.tiny.attention.size", 10**6, 65536),
        ("models.bilstm_attention.tiny.embedding", 10**6, 65536),
        ("vocabularies.bpe_2k.size", 10**12, 1000000),
        ("decode.beam_size", 10**4, 1000),
        ("average.tiny.checkpoints", 10**4, 1000),
        (f"{TRAINING}.max_length", 10**6, 100000),
    ],
)
def test_sizes_have_bounds(faults, key, value, most):
    assert line(f"{key}: should be less than or equal to {most}, got {value}") in faults({key: value})
