"""Typed, frozen sections of params.yaml, configs/ and corpora/; reading one names all its faults at once."""

import difflib
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from .files import DataError

PATH = Path("params.yaml")
NAME = r"^[A-Za-z0-9_]+$"  # of everything that becomes part of a path or of a system's id

MOST_CHOICES = 100  # that are named in place of a wrong name
TAGS = ("[key]", "[one]", "[list]")  # of pydantic and of a corpus's parts, in the location of a fault

Width = Annotated[int, Field(gt=0, le=2**16)]  # of a layer
Depth = Annotated[int, Field(gt=0, le=1000)]  # layers

AnySection = TypeVar("AnySection", bound="Section")


class ParamsError(ValueError):
    """`params.yaml` or a file of `corpora/` or `configs/` does not fit the classes that read it."""


class Node(NamedTuple):
    """A YAML value and its place: a dotted name in a file."""

    value: Any
    name: str = ""  # of the whole file
    path: Path | None = None  # of no file

    @classmethod
    def read(cls, place: str) -> "Node":
        """The node at a place: `training` of params.yaml, `x.yaml:clean`, or a whole file, `x.yaml:`.

        Raises: ParamsError naming the first key that is missing and the nearest one that exists.
        """
        file, colon, name = place.rpartition(":")
        path = Path(file) if colon else PATH
        value: Any = read_yaml(path)
        keys = name.split(".") if name else []
        for depth, key in enumerate(keys, 1):
            choices = value if isinstance(value, Mapping) else {}
            if key not in choices:
                raise ParamsError(f"{path}: {'.'.join(keys[:depth])}: no such section{nearest(key, map(str, choices))}")
            value = choices[key]
        return cls(value, name, path)

    def only(self, keys: Container[str]) -> "Node":
        """The node with these keys alone."""
        if not isinstance(self.value, Mapping):
            return self
        return self._replace(value={key: value for key, value in self.value.items() if key in keys})

    def fault(self, keys: Iterable[str], what: str) -> str:
        """The line about a fault at some keys below this node."""
        return ": ".join(filter(None, (str(self.path or ""), ".".join(filter(None, (self.name, *keys))), what)))


class Section(BaseModel):
    """A section of a parameter file: every key known, typed, unchangeable and without default.

    Every value is written in the files.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _noted(cls, value: Any, info: ValidationInfo) -> Any:
        if info.context is not None:
            info.context[id(value)] = cls.model_fields
        return value

    @classmethod
    def load(cls, *places: str, **axes: str) -> Self:
        """The section at these places, `{axes}` filled in: a key of a later one replaces that of an earlier one.

        Raises: ParamsError listing every fault, each at the place of the key.
        """
        return cls.merged([Node.read(place.format(**axes) if axes else place) for place in places])

    @classmethod
    def load_own(cls, *places: str, **axes: str) -> Self:
        """As `load`, but only the keys of this class: the others there belong to another class."""
        nodes = [Node.read(place.format(**axes) if axes else place) for place in places]
        return cls.merged([node.only(cls.model_fields) for node in nodes])

    @classmethod
    def merged(cls, nodes: Sequence[Node]) -> Self:
        """One section from several nodes; a key of a later node replaces that of an earlier one, with all below it.

        Raises: ParamsError listing every fault, each at the place of the key.
        """
        if faults := list(cls.merged_faults(nodes)):
            raise ParamsError("\n".join(faults))
        return cls.model_validate(joined(nodes))

    @classmethod
    def faults(cls, value: Any, name: str, path: Path = PATH) -> Iterator[str]:
        """One line per fault of the value at `name` in the file at `path`."""
        return cls.merged_faults([Node(value, name, path)])

    @classmethod
    def merged_faults(cls, nodes: Sequence[Node]) -> Iterator[str]:
        """One line per fault of the section merged from the nodes, at the node that has the key."""
        value, known = joined(nodes), dict[int, Collection[str]]()  # keys of the class of a mapping, by its `id`
        try:
            cls.model_validate(value, context=known)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                keys, what = fault(value, known, detail)
                holders = [node for node in nodes if keys and isinstance(node.value, Mapping) and keys[0] in node.value]
                yield (holders or nodes)[-1].fault(keys, what)

    def changed(self, **values: Any) -> Self:
        """This section with other values of some keys.

        Raises: ParamsError listing every fault, by its key: the values come from no file.
        """
        return self.merged([Node(self.model_dump() | values)])


def joined(nodes: Sequence[Node]) -> Any:
    """One mapping of all the nodes' keys; if a node is no mapping, its value, so that the fault is named."""
    whole: dict[Any, Any] = {}
    for node in nodes:
        if not isinstance(node.value, Mapping):
            return node.value
        whole |= node.value
    return whole


def stored_section(
    kind: type[AnySection], values: dict[str, Any], name: str, origin: Path, expected: str
) -> AnySection:
    """The values at `name` in the file `origin`, as a section of a class.

    Raises: DataError with every fault, and what was expected in its place.
    """
    try:
        return kind.merged([Node(values, name, origin)])
    except ParamsError as error:
        raise DataError(f"{'; '.join(str(error).splitlines())}; expected {expected}") from None


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML 1.2 file, read as DVC reads it.

    Raises: ParamsError if the file is missing, is not YAML or holds no mapping.
    """
    try:
        node = YAML(typ="safe", pure=True).load(path)  # ruamel.yaml.clib has other messages
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such file; expected in the folder the command runs in") from None
    except (YAMLError, ValueError, KeyError) as error:  # ValueError and KeyError: no such date, not UTF-8, a wrong tag
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1} column {mark.column + 1}" if mark else ""
        what = str(getattr(error, "problem", None) or str(error).splitlines()[0])
        what = re.sub(r'(duplicate key ".*?") with value .*', r"\1", what, flags=re.DOTALL)
        raise ParamsError(f"{path}{where}: not valid YAML, {what}") from None
    if not isinstance(node, dict):
        raise ParamsError(f"{path}: must be a mapping of sections, got {node!r:.200}")
    return node


def nearest(name: str, choices: Iterable[str]) -> str:
    """`; nearest is 'x'` for the choice most like `name`, or the list of choices, of many the first."""
    choices = sorted(choices)
    if close := difflib.get_close_matches(name, choices, n=1):
        return f"; nearest is {close[0]!r}"
    more = ", ..." if len(choices) > MOST_CHOICES else ""
    return f"; expected one of {', '.join(choices[:MOST_CHOICES])}{more}" if choices else ""


def name_faults(names: Iterable[str], bitexts: Collection[str], where: str) -> list[str]:
    """A line for each key at `where` that is no bitext."""
    return [f"{where}.{name}: no such bitext{nearest(name, bitexts)}" for name in names if name not in bitexts]


def fault(value: Any, known: Mapping[int, Collection[str]], detail: ErrorDetails) -> tuple[list[str], str]:
    """One of pydantic's errors about a value: the keys that lead to the fault, and the sentence about it."""
    keys, holder, node = follow(value, detail["loc"])
    context = detail.get("ctx", {})
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    match detail["type"]:
        case "missing":
            return keys, "is missing"
        case "extra_forbidden":
            return keys, f"unknown key{nearest(keys[-1], known[id(holder)])}"
        case "union_tag_not_found":
            return [*keys, context["discriminator"].strip("'")], "is missing"
        case "union_tag_invalid":
            tag, tags = context["tag"], re.findall("'(.+?)'", context["expected_tags"])
            return [*keys, context["discriminator"].strip("'")], f"unknown choice, got {tag!r}{nearest(tag, tags)}"
        case "value_error":  # a whole section's names its key: `heads: must ...` or `heads must ...`
            begin = re.match(r"([\w.]+)(?:: | (?=must ))(.*)", message, flags=re.DOTALL)
            if begin and begin[1].split(".")[0] in known.get(id(node), ()):
                return [*keys, begin[1]], begin[2]
            return keys, message
        case "model_type" | "dict_type" | "model_attributes_type":
            message = "should be a mapping"
        case "too_short":
            message = f"should have at least {context['min_length']} of them"
        case "string_pattern_mismatch" if context["pattern"] == NAME:
            message = "should be letters, digits and underscores"
    return keys, f"{message}, got {detail['input']!r:.200}"


def first_fault(error: ValidationError, name: str) -> str:
    """The first fault of a value called `name`, whose class is no section, as `key: what, got value`."""
    first = error.errors(include_url=False)[0]
    where, what = ".".join(map(str, first["loc"])) or name, first["msg"].removeprefix("Input ")
    got = "" if first["type"] == "missing" else f", got {first['input']!r:.60}"
    return f"{where}: {what[:1].lower()}{what[1:]}{got}"


def follow(value: Any, location: tuple[int | str, ...]) -> tuple[list[str], Any, Any]:
    """The keys of a value along pydantic's `location`, the mapping or list that has the last one, and what is there.

    An item of a list that has a name is called by it. The location also has the `kind` or `[tag]` of each union member,
    and `[key]` after a bad key.
    """
    keys: list[str] = []
    holder, node, may_be_kind = None, value, False
    for key in location:
        is_kind = may_be_kind and isinstance(node, Mapping) and key == node.get("kind")
        if key not in TAGS and not is_kind and isinstance(node, Mapping | list):
            keys.append(str(key))
            holder, node = node, node.get(key) if isinstance(node, Mapping) else node[int(key)]
            if isinstance(holder, list) and isinstance(node, Mapping):
                keys[-1] = str(node.get("name", key))
        may_be_kind = not is_kind
    return keys, holder, node


def flatten(node: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Every value by its dotted name: {"a": {"b": 1}} -> {"a.b": 1}."""
    flat: dict[str, Any] = {}
    for key, value in node.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat
