"""Rules of cleaning: `rules/<rule>.py` defines `Value`, `MICROSECONDS` and `broken`; its name is a key of `clean`.

`Value` is the type of the key, where 0, false, `off` and {} turn the rule off. `MICROSECONDS` is about the time of a
pair: cheap rules are tried first, and what one drops no later one sees. `broken(pairs, value, languages)` says of each
of some normalised pairs, none with an empty side, whether it breaks the rule.
"""

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType

from .. import rules


@cache
def names() -> list[str]:
    """Every rule, the cheapest first."""
    found = [module.name for module in pkgutil.iter_modules(rules.__path__) if module.name != "interface"]
    return sorted(found, key=lambda name: (find(name).MICROSECONDS, name))


def find(name: str) -> ModuleType:
    """The module of a rule."""
    return import_module(f"{rules.__name__}.{name}")  # the wheel has another name for the package
