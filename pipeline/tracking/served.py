"""What MLflow runs to serve a packaged system: it copies this file, with the code that it imports, into the model.

Code and no pickle: loading it needs no MLFLOW_ALLOW_PICKLE_DESERIALIZATION.
"""

from pathlib import Path
from typing import Any

import pandas
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from pipeline.decoding.translator import Translator  # absolute: MLflow runs this file outside its package
from pipeline.packaging import loading

SYSTEM = "system"  # the artifact of the model: the packaged folder
SOURCE, TRANSLATION = "source", "translation"  # the columns of input and output


class ServedSystem(PythonModel):
    """Answers what `nmt translate --model` writes; the parameters replace the packaged settings of the search."""

    translator: Translator

    def load_context(self, context: Any) -> None:
        """Load the packaged folder, checked."""
        self.translator = loading.load(Path(context.artifacts[SYSTEM]))

    def predict(
        self, context: Any, model_input: pandas.DataFrame, params: dict[str, Any] | None = None
    ) -> pandas.DataFrame:
        """One translation a row."""
        decoding = self.translator.decoding.changed(**(params or {}))
        return pandas.DataFrame({TRANSLATION: self.translator.translate(model_input[SOURCE].tolist(), decoding)})


set_model(ServedSystem())
