"""A packaged system as MLflow serves it, from code and no pickle: MLflow copies this file, and its imports."""

from pathlib import Path
from typing import Any

import pandas
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from pipeline.decoding.translator import Translator  # absolute: MLflow runs this file outside its package
from pipeline.packaging import loading


class ServedSystem(PythonModel):
    """Answers what `nmt translate --model` writes; the parameters replace the packaged settings of the search."""

    translator: Translator

    def load_context(self, context: Any) -> None:
        """Load the packaged folder, checked."""
        self.translator = loading.load(Path(context.artifacts["system"]))

    def predict(
        self, context: Any, model_input: pandas.DataFrame, params: dict[str, Any] | None = None
    ) -> pandas.DataFrame:
        """One translation a row."""
        decoding = self.translator.decoding.changed(**(params or {}))
        return pandas.DataFrame({"translation": self.translator.translate(model_input["source"].tolist(), decoding)})


set_model(ServedSystem())
