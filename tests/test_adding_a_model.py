"""docs/adding-a-model.md: the model, its sizes and its test hold as they stand there."""

import re
import sys
from types import ModuleType

from ruamel.yaml import YAML

from pipeline import models
from pipeline.models import interface
from pipeline.training.learning import Learning
from tests.test_documents import PAGES

NAME = "embedding_attention"
MODEL, TEST = re.findall(r"^```python\n(.*?)```", PAGES["docs/adding-a-model.md"], re.M | re.S)
[CONFIG] = re.findall(r"^```yaml\n(.*?)```", PAGES["docs/adding-a-model.md"], re.M | re.S)


def test_the_page_holds(tmp_path, monkeypatch):
    (tmp_path / f"{NAME}.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(tmp_path)])
    try:
        arch = interface.find(NAME).Arch
        sizes = YAML(typ="safe").load(CONFIG)
        tiny = sizes["shared"] | sizes["tiny"]
        assert set(tiny) == {*arch.model_fields, *Learning.model_fields}
        arch.model_validate({key: tiny[key] for key in arch.model_fields})
        Learning.model_validate({key: tiny[key] for key in Learning.model_fields})
        test = ModuleType(f"tests.pipeline.models.test_{NAME}")
        monkeypatch.setitem(sys.modules, test.__name__, test)
        exec(TEST, test.__dict__)
        [run] = [value for name, value in vars(test).items() if name.startswith("test_")]
        run()
    finally:
        sys.modules.pop(f"{models.__name__}.{NAME}", None)
