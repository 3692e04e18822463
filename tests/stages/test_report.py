"""The stage `report`: the very command of dvc.yaml on what the stages before leave behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.evaluation.pages import Report
from pipeline.evaluation.results import read_rows
from pipeline.evaluation.scores import Scoring
from pipeline.files import DataError
from pipeline.system import Build
from stages.report import analysed, compared, main, read_corpus

ROOT = Path(__file__).parents[2]
PARAMS = """
build:
  corpora: [toy_fr_en]
  vocabularies: [bpe_2k]
  models: [small_model, large_model]
  sizes: [tiny]
  more_seeds: []
ensembles:
  pairs: {two: {corpus: toy_fr_en, vocabulary: bpe_2k, first: small_model-tiny, second: large_model-tiny}}
report: {samples: 2, compared: 3, extremes: 1, ngrams: 2, frequency_buckets: [0, 9], seed: 1}
score: {metrics: [bleu, chrf], tokenize: 13a, length_buckets: [10], bootstrap_samples: 40, seed: 1}
"""
PLOTS = YAML(typ="safe").load(ROOT / "dvc.yaml")["plots"]
SYSTEMS = [f"toy_fr_en-bpe_2k-{model}-tiny" for model in ("small_model", "large_model")]
PARTS = {"train": 90, "validation": 4, "test": 4, "compositional": 3}
REQUIRED = {
    "data/split/toy_fr_en.json": "split@toy_fr_en",
    "data/clean/toy_fr_en/clean.json": "clean@toy_fr_en",
    "data/encode/toy_fr_en-bpe_2k/encode.json": "encode@toy_fr_en-bpe_2k",
    f"runs/{SYSTEMS[0]}/train/curves.csv": f"train@{SYSTEMS[0]}",
    f"runs/{SYSTEMS[0]}/train/train_loss.csv": f"train@{SYSTEMS[0]}",
    f"runs/{SYSTEMS[0]}/train/training.json": f"train@{SYSTEMS[0]}",
    f"runs/{SYSTEMS[1]}/average/average.json": f"average@{SYSTEMS[1]}",
    f"data/decode/{SYSTEMS[1]}/test.txt": f"decode@{SYSTEMS[1]}",
    f"metrics/{SYSTEMS[1]}.json": f"score@{SYSTEMS[1]}",
    f"data/score/{SYSTEMS[1]}/by_length.csv": f"score@{SYSTEMS[1]}",
    f"data/score/{SYSTEMS[1]}/scores.json": f"score@{SYSTEMS[1]}",
    "metrics/two.json": "ensemble@two",
    f"data/attend/{SYSTEMS[0]}/compositional.json": f"attend@{SYSTEMS[0]}",
}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def write_corpus(root):
    cleaning = {"source_language": "fr", "target_language": "en", "read": 100, "kept": 90}
    write(root / "data/clean/toy_fr_en/clean.json", cleaning | {"dropped": {"empty": 3, "duplicate": 7}})
    leakage = {"train/test": {"exact_source": 1, "exact_target": 2, "near_source": 0, "near_target": 0, "dropped": 2}}
    write(
        root / "data/split/toy_fr_en.json",
        {"pairs": PARTS, "dropped": {"train": {"exact": 2, "near": 0}}, "leakage": leakage},
    )
    tokens = {"source_tokens": 500, "target_tokens": 450, "source_unknown": 1, "target_unknown": 0}
    encoded = {part: {"pairs": count, **tokens} for part, count in PARTS.items()}
    write(root / "data/encode/toy_fr_en-bpe_2k/encode.json", encoded)
    for part, count in PARTS.items():
        for side in ("source", "target"):
            write(
                root / f"data/split/toy_fr_en/{part}.{side}.txt", "".join(f"{part} {side} {i}\n" for i in range(count))
            )


def write_system(root, system, bleu):
    tests = ("test", "compositional")
    signatures = {"bleu": "nrefs:1|tok:13a|version:2.6.0", "chrf": "nrefs:1|nc:6|version:2.6.0"}
    scores = {part: {"bleu": bleu, "chrf": 80.0} for part in tests}
    write(root / f"metrics/{system}.json", {"validation": {"loss": 1.3333}} | scores)
    details = {
        metric: {"score": 80.0, "interval": [79.0, 81.0], "signature": signature}
        for metric, signature in signatures.items()
    }
    write(root / f"data/score/{system}/scores.json", dict.fromkeys(tests, details))
    for part in tests:
        write(
            root / f"data/decode/{system}/{part}.txt", "".join(f"{part} of {system} {i}\n" for i in range(PARTS[part]))
        )
    attended = {"source": ["▁a", "</s>"], "target": ["</s>"], "text": "", "weights": {"attention": [[[0.5, 0.5]]]}}
    for part in tests:
        write(root / f"data/attend/{system}/{part}.json", [{"line": 2, **attended}])
    rows = "".join(f"{part},1-10,1,10,{PARTS[part]},{bleu},80.0\n" for part in tests)
    write(root / f"data/score/{system}/by_length.csv", "part,bucket,lower,upper,sentences,bleu,chrf\n" + rows)
    curves = "".join(f"{n},1.0,0.001,1.0,{400 / n},2.0,{n / 5}\n" for n in (100, 200, 300))
    header = "update,train_loss,learning_rate,grad_norm,validation_loss,validation_perplexity,validation_bleu\n"
    write(root / f"runs/{system}/train/curves.csv", header + curves)
    write(root / f"runs/{system}/train/train_loss.csv", "update,train_loss\n10,7.5\n20,6.25\n")
    training = {"updates": 300, "stopped": "updates", "padding_share": 0.05}
    training |= {"best": {"update": 300, "validation_loss": 1.3333, "validation_bleu": 60.0}, "num_parameters": 12345}
    write(
        root / f"runs/{system}/train/training.json", training | {"params": {"training.updates": 300, "arch.width": 64}}
    )
    names = [f"update_{number}.safetensors" for number in (200, 300)]
    write(root / f"runs/{system}/average/average.json", {"checkpoints": names})


def write_project(root):
    write(root / "params.yaml", PARAMS)
    write_corpus(root)
    for system, bleu in zip(SYSTEMS, (71.25, 83.5), strict=True):
        write_system(root, system, bleu)
    write_system(root, "toy_fr_en-bpe_2k-old_model-tiny", 99.0)  # of an earlier choice
    write(root / "metrics/two.json", {part: {"bleu": 84.25, "chrf": 81.0} for part in ("test", "compositional")})
    return root


@pytest.fixture
def project(tmp_path):
    return write_project(tmp_path)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A project whose report is written, and what the command said."""
    root = write_project(tmp_path_factory.mktemp("reported"))
    return root, report(root)


def report(project):
    # a store that cannot be: the stage must not need one
    dead = {"MLFLOW_TRACKING_URI": "sqlite:////dev/null/mlflow.db", "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    command = [sys.executable, "-m", "stages.report"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, env=os.environ | dead, check=False)


def test_the_page_shows_the_systems_chosen_and_no_other(reported):
    project, run = reported
    assert run.returncode == 0, run.stderr
    page = (project / "report/index.md").read_text(encoding="utf-8")
    assert page.index("| 83.50 |") < page.index("| 71.25 |")
    assert page.index("Test part `test`") < page.index("Test part `compositional`")
    assert "old_model" not in page
    assert sorted(path.name for path in (project / "report").iterdir()) == [
        "attention",
        "index.html",
        "index.md",
        "learning_curves-toy_fr_en.png",
        "metrics.json",
        "plotly.min.js",
        "scores_by_length-toy_fr_en.png",
    ]
    assert sorted(path.name for path in (project / "report/attention").iterdir()) == sorted(SYSTEMS)


def test_an_ensemble_is_below_the_systems(reported):
    page = (reported[0] / "report/index.md").read_text(encoding="utf-8")
    row = f"| `two` | `{SYSTEMS[0]}` and `{SYSTEMS[1]}` | 84.25 | 81.00 |"
    assert page.count(row) == 2
    assert page.index("Two systems together, test part `test`") > page.index("Test part `compositional`")
    metrics = json.loads((reported[0] / "report/metrics.json").read_text(encoding="utf-8"))
    assert metrics["two"] == {"bleu": 84.25}


def test_every_system_is_in_every_chart_that_dvc_draws(reported):
    """And every chart that dvc.yaml names is there, by templates that are there."""
    assert len(PLOTS) == 3
    for [(path, about)] in (plot.items() for plot in PLOTS):
        rows = read_rows(reported[0] / path, [])
        assert {row["system"] for row in rows} == {system.removeprefix("toy_fr_en-") for system in SYSTEMS}
        assert {row["corpus"] for row in rows} == {"toy_fr_en"}
        assert {row["part"] for row in rows if "part" in row} in ({"test", "compositional"}, set())
        assert {about["x"], about["y"]} <= set(rows[0])
        assert (ROOT / f".dvc/plots/{about['template']}.json").is_file()


def test_the_page_of_attention_has_sentences_of_every_test_part(reported):
    page = (reported[0] / f"report/attention/{SYSTEMS[0]}/index.html").read_text(encoding="utf-8")
    assert page.index("test, line 2") < page.index("compositional, line 2")


def test_systems_are_compared_by_the_sections_read(reported):
    page = (reported[0] / "report/index.md").read_text(encoding="utf-8")
    assert page.count("- BLEU, paired bootstrap: `nrefs:1|bs:40|seed:1|case:mixed|eff:no|tok:13a|") == 1


def test_words_are_counted_in_the_training_part(project, monkeypatch):
    """Its target side: the sources have none of the words of the references."""
    monkeypatch.chdir(project)
    scoring, report = Scoring.load("score"), Report.load("report")
    corpus = analysed(read_corpus("toy_fr_en", Build.load("build"), {}, scoring), report, scoring)
    assert corpus.words["test"][3] == ["test", "target", "3"]
    [never, rarely, often] = corpus.analyses["test"][corpus.systems[0].name].frequencies
    assert (never.name, never.expected) == ("0", 4)  # test
    assert (rarely.name, rarely.expected) == ("1-9", 4)  # 0 to 3
    assert (often.name, often.expected) == ("10+", 4)  # target


def test_without_bleu_nothing_is_compared(project, monkeypatch):
    monkeypatch.chdir(project)
    scoring = Scoring.load("score")
    corpus = read_corpus("toy_fr_en", Build.load("build"), {}, scoring)
    assert compared(corpus, scoring.model_copy(update={"metrics": ["chrf"]})) == corpus
    assert set(compared(corpus, scoring).comparisons) == {"test", "compositional"}


def test_the_terminal_shows_every_score_in_eighty_columns(reported):
    lines = reported[1].stdout.splitlines()
    cells = [line.replace("│", " ").split() for line in lines]
    assert [(row[0], row[1], row[-1]) for row in cells if row and row[0].startswith("bpe_2k-")] == [
        ("bpe_2k-large_model-tiny", "83.50", "80.00"),
        ("bpe_2k-small_model-tiny", "71.25", "80.00"),
    ] * 2
    assert cells.index(["test"]) < cells.index(["compositional"])
    assert max(map(len, lines)) <= 80


def test_again_gives_the_same_bytes(reported):
    project = reported[0]

    def written():
        return {path: path.read_bytes() for path in (project / "report").rglob("*") if path.is_file()}

    first = written()
    assert report(project).returncode == 0
    assert written() == first


def test_further_seeds_are_on_the_page(project):
    """By hand: 71.25 and 73.25 have the mean 72.25; the deviation is sqrt(2)."""
    write(project / "params.yaml", PARAMS.replace("more_seeds: []", "more_seeds: [2]"))
    for system, bleu in zip(SYSTEMS, (73.25, 83.5), strict=True):
        scores = {part: {"bleu": bleu, "chrf": 80.0} for part in ("test", "compositional")}
        write(project / f"metrics/{system}-2.json", scores)
    run = report(project)
    assert run.returncode == 0, run.stderr
    page = (project / "report/index.md").read_text(encoding="utf-8")
    assert "Mean ± standard deviation of 2 seeds, test part `test`:" in page
    assert "| `small_model` | 72.25 ± 1.41 | 0.056 | 80.00 ± 0.00 | `large_model` |" in page
    assert "83.5 and 72.2 BLEU on `test`, mean of 2 seeds" in page
    assert "| `small_model` | 12,345 | 71.25 |" in page
    metrics = json.loads((project / "report/metrics.json").read_text())
    assert metrics["small_model-tiny"] == {"loss": 1.3333, "bleu": 71.25, "bleu_mean": 72.25, "bleu_deviation": 1.4142}


def test_a_further_seed_that_is_not_scored_is_named(project, monkeypatch):
    write(project / "params.yaml", PARAMS.replace("more_seeds: []", "more_seeds: [2]"))
    monkeypatch.chdir(project)
    with pytest.raises(DataError) as error:
        main()
    command = f"`dvc repro score_seed@{SYSTEMS[0]}-2`"
    assert str(error.value) == f"metrics/{SYSTEMS[0]}-2.json: no such file; expected what {command} builds"


def test_a_missing_file_ends_the_command(project):
    (project / f"metrics/{SYSTEMS[0]}.json").unlink()
    run = report(project)
    assert run.returncode == 1
    message = f"metrics/{SYSTEMS[0]}.json: no such file; expected what `dvc repro score@{SYSTEMS[0]}` builds"
    assert run.stderr.splitlines()[-1] == f"error: {message}"  # matplotlib may have said that it looks for fonts
    assert not (project / "report").exists()


@pytest.mark.parametrize("path", REQUIRED)
def test_a_missing_file_is_named_with_the_command_that_builds_it(project, path, monkeypatch):
    (project / path).unlink()
    monkeypatch.chdir(project)
    with pytest.raises(DataError) as error:
        main()
    assert str(error.value) == f"{path}: no such file; expected what `dvc repro {REQUIRED[path]}` builds"


@pytest.mark.parametrize("path", [f"metrics/{SYSTEMS[0]}.json", f"data/score/{SYSTEMS[0]}/scores.json"])
def test_a_score_that_is_not_there_is_named(project, path, monkeypatch):
    scores = json.loads((project / path).read_text())
    write(project / path, scores | {"compositional": {}})
    monkeypatch.chdir(project)
    with pytest.raises(DataError) as error:
        main()
    assert str(error.value) == f"{path}: compositional.bleu: field required; expected what the stage writes"


@pytest.mark.parametrize(("lines", "number"), [("", 0), ("one more\n" * 99, 99)])
def test_translations_of_more_or_fewer_sentences_are_named(project, monkeypatch, lines, number):
    path = f"data/decode/{SYSTEMS[0]}/compositional.txt"
    write(project / path, lines)
    monkeypatch.chdir(project)
    with pytest.raises(DataError) as error:
        main()
    expected = f"data/split/toy_fr_en/compositional.target.txt {PARTS['compositional']}: the two files must be parallel"
    assert str(error.value) == f"{path} has {number} lines, {expected}"
