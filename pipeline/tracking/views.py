"""What the list of runs shows of them in MLflow's pages: which columns, in which order."""

import json

SCORES = "scores"  # the name of the view, in its address
KEY = f"mlflow.sharedViewState.{SCORES}"  # the experiment's tag that MLflow's pages read
PRIMARY_METRIC = "test/bleu"
COLUMNS = (
    *(f"metrics.`{name}`" for name in (PRIMARY_METRIC, "test/chrf", "minutes", "num_parameters", "validation_bleu")),
    *(f"tags.`{name}`" for name in ("corpus", "vocabulary", "dvc_exp_name")),
    "attributes.`Created`",
)
NAME = "attributes.`Run Name`"
NAME_WIDTH = 320  # pixels: the model, its size and its vocabulary are read without opening the run


def scores() -> str:
    """The view: trainings only, the best first; each training has the scores of its last scoring."""
    state = {
        "searchFilter": "tags.`nmt.kind` = 'training'",
        "orderByKey": f"metrics.`{PRIMARY_METRIC}`",
        "orderByAsc": False,
        "selectedColumns": list(COLUMNS),
        "columnOrder": [NAME, *COLUMNS],
        "columnWidths": {NAME: NAME_WIDTH},
    }
    return json.dumps(state)
