"""The tables of scores in README and results are those of benchmarks/expected.json."""

import json

from docs import scores


def test_the_tables_are_those_of_the_file():
    """If not: python -m docs.scores."""
    for path in (scores.README, scores.RESULTS):
        page = path.read_text(encoding="utf-8")
        assert scores.renewed(page) == page
    assert scores.table() in scores.README.read_text(encoding="utf-8")
    assert scores.others_table() in scores.RESULTS.read_text(encoding="utf-8")


def test_cells_by_hand(tmp_path, monkeypatch):
    monkeypatch.setattr(scores, "EXPECTED", tmp_path / "expected.json")
    runs = {"good": [(40.0, 60.0), (42.0, 60.5)], "poor": [(39.0, 58.0), (41.0, 59.0)]}
    expected = {
        f"{scores.PREFIX}{name}-tiny": {
            "runs": [{"scores": {part: {"bleu": bleu, "chrf": chrf} for part in ("test", "compositional")}}
                     for bleu, chrf in values]
        }
        for name, values in runs.items()
    }  # fmt: skip
    scores.EXPECTED.write_text(json.dumps(expected))
    good = "| `good` | 41.0 ± 1.4 | – | 41.0 ± 1.4 | 60.2 ± 0.4 |\n"
    poor = "| `poor` | 40.0 ± 1.4 | 64 % | 40.0 ± 1.4 | 58.5 ± 0.7 |\n"
    assert scores.table() == scores.HEAD + good + poor
    assert scores.renewed(f"a\n\n{scores.HEAD}| old |\n\nb\n") == f"a\n\n{scores.HEAD}{good}{poor}\nb\n"
