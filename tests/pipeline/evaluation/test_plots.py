"""The tables of `dvc plots show`, and the metrics of `dvc exp show`."""

import csv

from pipeline.evaluation import plots
from pipeline.evaluation.results import EnsembleResults


def test_a_table_has_the_lines_of_every_system(make_corpus, tmp_path):
    plots.write(tmp_path, [make_corpus(), make_corpus(name="other")])
    found = {path.relative_to(tmp_path).as_posix(): rows(path) for path in tmp_path.rglob("*.*")}
    assert sorted(found) == ["learning_curves.csv", "scores_by_length.csv", "train_loss.csv"]
    one, two = "bpe_2k-first_model-tiny", "bpe_2k-second_model-tiny"
    for name, header, lines in (
        (
            "learning_curves",
            ["corpus", "system", "update", "validation_loss"],
            [
                [one, "200", "0.25"],
                [one, "400", "0.125"],
                [one, "600", "0.08333333333333333"],
                [two, "200", "0.35"],
                [two, "400", "0.175"],
                [two, "600", "0.11666666666666667"],
            ],
        ),
        (
            "train_loss",
            ["corpus", "system", "update", "train_loss"],
            [[one, "10", "7.5"], [one, "20", "6.25"], [two, "10", "7.5"], [two, "20", "6.25"]],
        ),
        (
            "scores_by_length",
            ["corpus", "part", "system", "bucket", "sentences", "bleu", "chrf"],
            [
                ["test", one, "1-10", "3", "50.0", "50"],
                ["test", one, "11-20", "1", "40.0", "50"],
                ["test", two, "1-10", "3", "70.0", "50"],
                ["test", two, "11-20", "1", "60.0", "50"],
            ],
        ),
    ):
        assert found[f"{name}.csv"] == [header, *([corpus, *line] for corpus in ("toy", "other") for line in lines)]


def test_rows_of_other_parts_stay_out(make_corpus, make_system):
    rows = [
        {"part": part, "bucket": "1-10", "sentences": "3", "bleu": "50", "chrf": "60"} for part in ("test", "further")
    ]
    corpus = make_corpus(systems=[make_system("model", 50.0, by_length=rows)])
    assert [row["part"] for row in plots.scores_by_length(corpus)] == ["test"]


def test_metrics_are_two_numbers_a_system_under_its_shortest_name(make_corpus, make_system):
    found = plots.metrics([make_corpus()])
    assert list(found) == ["first_model-tiny", "second_model-tiny"]
    [first, _] = make_corpus().systems
    score = first.scores["test"]["bleu"]
    assert found["first_model-tiny"] == {"loss": first.training["best"]["validation_loss"], "bleu": score}
    several = plots.metrics(
        [make_corpus(), make_corpus(name="other", systems=[make_system("model", 50.0, corpus="other")])]
    )
    assert list(several)[:2] == ["toy-first_model-tiny", "toy-second_model-tiny"]


def test_metrics_of_several_seeds_have_mean_and_standard_deviation(seeded):
    found = plots.metrics([seeded([5.0, 6.0, 7.0], [1.0, 1.0, 3.0])])["b-tiny"]
    assert (found["bleu"], found["bleu_mean"], found["bleu_deviation"]) == (1.0, 1.6667, 1.1547)  # 2 / sqrt(3)


def test_metrics_of_an_ensemble_are_its_score(make_corpus):
    two = EnsembleResults("two", ["a", "b"], {"test": {"bleu": 50.0, "chrf": 60.0}})
    assert plots.metrics([make_corpus(ensembles=[two])])["two"] == {"bleu": 50.0}


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))
