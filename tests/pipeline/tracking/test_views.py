"""The list of runs in MLflow's pages: the columns that a comparison needs, trainings only, the best first."""

import json

from pipeline.tracking import views


def test_scores_minutes_and_parameters_are_columns() -> None:
    state = json.loads(views.scores())
    for name in ("metrics.`test/bleu`", "metrics.`test/chrf`", "metrics.`minutes`", "metrics.`num_parameters`"):
        assert name in state["selectedColumns"]
    assert (state["orderByKey"], state["orderByAsc"]) == ("metrics.`test/bleu`", False)
    assert state["searchFilter"] == "tags.`nmt.kind` = 'training'"
    assert state["columnOrder"][0] in state["columnWidths"]
    assert views.KEY == "mlflow.sharedViewState.scores"
