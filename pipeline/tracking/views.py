"""The view of runs in MLflow's pages with their scores: "Views" has it, and `make ui` prints its address."""

import json

COLUMNS = (
    *(f"metrics.`{name}`" for name in ("test/bleu", "test/chrf", "validation_bleu")),
    *(f"tags.`{name}`" for name in ("experiment", "varied")),
    "attributes.`Created`",
)
NAME = "attributes.`Run Name`"
STATE = {"selectedColumns": COLUMNS, "columnOrder": [NAME, *COLUMNS], "columnWidths": {NAME: 380}}
# Tags of MLflow's experiment: as its pages write a view that a user saves.
TAGS = {
    "mlflow.sharedViewState.scores": json.dumps({"name": "Scores", "createdAt": 0, "state": json.dumps(STATE)}),
    "mlflow.experimentKind": "custom_model_development",
}
