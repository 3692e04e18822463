"""Typed, frozen sections of params.yaml, configs/ and corpora/; reading one names all its faults at once."""

import difflib
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

S = TypeVar("S", bound="Section")

PATH = Path("params.yaml")
NAME = r"^[A-Za-z0-9_]+$"  # of everything that becomes part of a path or of a system's id

LARGEST = 2**31 - 1  # whole number: a larger one was mistyped, and many libraries fail on it
SHOWN = 200  # characters of a wrong value in a message

Width = Annotated[int, Field(gt=0, le=2**16)]  # of a layer
Depth = Annotated[int, Field(gt=0, le=1000)]  # layers


class ParamsError(ValueError):
    """`params.yaml` or a file of `corpora/` does not fit the classes that read it."""


class Section(BaseModel):
    """A section of `params.yaml` or `corpora/<corpus>.yaml`: every key known, typed, unchangeable and without default.

    Every value is written in the files.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _bounded(cls, value: Any) -> Any:
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ValueError(f"should be at most {LARGEST}, got {value}")
        return value

    @classmethod
    def load(cls, name: str, path: Path = PATH) -> Self:
        """Section `name` (dots descend) of the file at `path`.

        Raises: ParamsError listing every fault of the section.
        """
        return cls.merged([Node(find(read_yaml(path), name, path), name, path)])

    @classmethod
    def load_all(cls, *places: str) -> Self:
        """One section from several places: a key of a later one replaces that of an earlier one, with all below it.

        Raises: ParamsError listing every fault, each at the place of the key.
        """
        return cls.merged([Node.read(place) for place in places])

    @classmethod
    def load_own(cls, *places: str) -> Self:
        """As `load_all`, but only the keys of this class: the others there belong to another class.

        Raises: ParamsError listing every fault, each at the place of the key.
        """
        return cls.merged([Node.read(place).only(cls.model_fields) for place in places])

    @classmethod
    def merged(cls, nodes: "Sequence[Node]") -> Self:
        """One section from several nodes; a key of a later node replaces that of an earlier one, with all below it.

        Raises: ParamsError listing every fault, each at the place of the key.
        """
        if faults := list(cls.merged_faults(nodes)):
            raise ParamsError("\n".join(faults))
        return cls.model_validate(joined(nodes))

    @classmethod
    def merged_faults(cls, nodes: "Sequence[Node]") -> Iterator[str]:
        """One line per fault of the section merged from the nodes, at the node that has the key."""
        for below, what in cls.details(joined(nodes)):
            holders = [node for node in nodes if below and isinstance(node.value, Mapping) and below[0] in node.value]
            node = (holders or nodes)[-1]
            yield f"{node.path}: {'.'.join(filter(None, (node.name, *below)))}: {what}"

    @classmethod
    def faults(cls, value: Any, name: str, path: Path = PATH) -> Iterator[str]:
        """One line per fault of the value at `name` in the file at `path`; "" is the whole file."""
        return cls.merged_faults([Node(value, name, path)])

    @classmethod
    def details(cls, value: Any) -> Iterator[tuple[list[str], str]]:
        """The keys that lead to each fault of `value`, and the sentence about it."""
        try:
            cls.model_validate(value)
        except ValidationError as error:
            for detail in error.errors():
                yield fault(cls, detail)

    def changed(self, **values: Any) -> Self:
        """This section with other values of some keys.

        Raises: ParamsError listing every fault, by its key: the values come from no file.
        """
        whole = self.model_dump() | values
        if faults := [f"{'.'.join(below)}: {what}" for below, what in self.details(whole)]:
            raise ParamsError("\n".join(faults))
        return self.model_validate(whole)


class Node(NamedTuple):
    """A YAML value and its place: a dotted name in a file."""

    value: Any
    name: str  # "" for the whole file
    path: Path

    @classmethod
    def read(cls, place: str) -> "Node":
        """The node at a place: `training` of params.yaml, `x.yaml:clean`, or a whole file, `x.yaml:`.

        Raises: ParamsError if there is nothing.
        """
        file, colon, name = place.rpartition(":")
        path = Path(file) if colon else PATH
        whole = read_yaml(path)
        return cls(find(whole, name, path) if name else whole, name, path)

    def only(self, keys: Container[str]) -> "Node":
        """The node with these keys alone."""
        if not isinstance(self.value, Mapping):
            return self
        return self._replace(value={key: value for key, value in self.value.items() if key in keys})


def joined(nodes: Sequence[Node]) -> Any:
    """One mapping of all the nodes' keys; if a node is no mapping, its value, so that the fault is named."""
    whole: dict[Any, Any] = {}
    for node in nodes:
        if not isinstance(node.value, Mapping):
            return node.value
        whole |= node.value
    return whole


def partial(kind: type[Section]) -> type[Section]:
    """A class with the keys and types of `kind`, each of which may be left out."""
    keys: dict[str, Any] = {
        name: (field.annotation, FieldInfo.merge_field_infos(field, default=None))
        for name, field in kind.model_fields.items()
    }
    return create_model(f"Partial{kind.__name__}", __base__=Section, __doc__=kind.__doc__, **keys)


class Reader:
    """Loads only the sections that a stage declares in its `READS`, so that dvc.yaml cannot lack one."""

    def __init__(self, reads: tuple[str, ...], **axes: str) -> None:
        self.reads, self.axes = reads, axes

    def __call__(self, kind: type[S], *templates: str) -> S:
        """Load these places, with their axes filled in, as one `kind`: later keys replace earlier ones."""
        return kind.load_all(*self.places(templates))

    def own(self, kind: type[S], *templates: str) -> S:
        """The same, but only the keys of `kind`; keys of another class may be beside them."""
        return kind.load_own(*self.places(templates))

    def top(self, kind: type[S], template: str) -> S:
        """Load the keys at the top of a file that are fields of `kind`."""
        self.places([f"{template}:{name}" for name in kind.model_fields])
        return kind.load_own(f"{template.format(**self.axes)}:")

    def places(self, templates: Sequence[str]) -> list[str]:
        """The templates with their axes filled in; each must be declared."""
        for template in templates:
            assert template in self.reads, f"{template} is not in READS {self.reads}"
        return [template.format(**self.axes) for template in templates]


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML 1.2 file, read as DVC reads it.

    Raises: ParamsError if the file is missing, is not YAML or holds no mapping.
    """
    yaml = YAML(typ="safe", pure=True)  # ruamel.yaml.clib has other messages
    try:
        node = yaml.load(path)
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such file; expected in the folder the command runs in") from None
    except YAMLError as error:
        raise ParamsError(f"{path}{broken(error)}") from None
    except (ValueError, KeyError) as error:  # no such date, not UTF-8, a wrong tag
        raise ParamsError(f"{path}: not valid YAML, {' '.join(str(error).split())}") from None
    if not isinstance(node, dict):
        got = "nothing" if node is None else shown(node)
        raise ParamsError(f"{path}: must be a mapping of sections, got {got}")
    return node


def shown(value: Any) -> str:
    """A value as a message shows it; a long one is cut."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def broken(error: YAMLError) -> str:
    """Where and why a file is not valid YAML, in one line."""
    if isinstance(error, MarkedYAMLError) and error.problem_mark:
        what = ", ".join(text for text in (error.context, error.problem) if text)
        mark = error.problem_mark
        what = re.sub(r'(duplicate key ".*?") with value .*', r"\1", what, flags=re.DOTALL)
        return f" line {mark.line + 1} column {mark.column + 1}: not valid YAML, {' '.join(what.split())}"
    return f": not valid YAML, {str(error).splitlines()[0]}, at character {getattr(error, 'position', 0) + 1}"


def find(node: Any, name: str, path: Path = PATH) -> Any:
    """The value at `name` (dots descend) below `node`.

    Raises: ParamsError naming the first key that is missing and the nearest one that exists.
    """
    done: list[str] = []
    for key in name.split("."):
        if not isinstance(node, Mapping) or key not in node:
            choices = [str(choice) for choice in node] if isinstance(node, Mapping) else []
            raise ParamsError(f"{path}: {'.'.join([*done, key])}: no such section{nearest(key, choices)}")
        done.append(key)
        node = node[key]
    return node


def nearest(name: str, choices: Iterable[str]) -> str:
    """`; nearest is 'x'` for the choice most like `name`, or the list of choices if none is like it."""
    choices = sorted(choices)
    close = difflib.get_close_matches(name, choices, n=1, cutoff=0.6)
    if close:
        return f"; nearest is {close[0]!r}"
    return f"; expected one of {', '.join(choices)}" if choices else ""


def fault(kind: type[Section], detail: ErrorDetails) -> tuple[list[str], str]:
    """One of pydantic's errors about a `kind`: the keys that lead to the fault, and the sentence about it."""
    path, holder, kind = follow(kind, detail["loc"])
    context = detail.get("ctx", {})
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    match detail["type"]:
        case "missing":
            return path, "is missing"
        case "extra_forbidden":
            return path, f"unknown key{nearest(path[-1], fields(holder))}"
        case "union_tag_not_found":
            return [*path, context["discriminator"].strip("'")], "is missing"
        case "union_tag_invalid":
            tags = re.findall("'(.+?)'", context["expected_tags"])
            tag = context["tag"]
            return [*path, context["discriminator"].strip("'")], f"unknown choice, got {tag!r}{nearest(tag, tags)}"
        case "value_error":
            return named(path, message, fields(kind))
        case "model_type" | "dict_type" | "model_attributes_type":
            message = "should be a mapping"
        case "too_short":
            message = f"should have at least {context['min_length']} of them"
        case "string_pattern_mismatch" if context["pattern"] == NAME:
            message = "should be letters, digits and underscores"
    return path, f"{message}, got {shown(detail['input'])}"


def named(path: list[str], message: str, names: Iterable[str]) -> tuple[list[str], str]:
    """A whole section's fault, moved to the key that its message begins with: `heads: must ...` or `heads must ...`."""
    begin = re.match(r"([\w.]+)(?:: | (?=must ))(.*)", message, flags=re.DOTALL)
    if begin and begin[1].split(".")[0] in names:
        return [*path, begin[1]], begin[2]
    return path, message


def follow(kind: Any, location: tuple[int | str, ...]) -> tuple[list[str], Any, Any]:
    """The file's keys along pydantic's `location`, the class that holds the last one, and the class of its value.

    The location also has the tags of union members, and `[key]` after a bad key; the file has neither.
    """
    path: list[str] = []
    holder = None
    for key in location:
        members = alternatives(kind)
        if len(members) > 1:
            kind = next((member for member in members if key in tags(member)), None)
        elif key != "[key]":
            path.append(str(key))
            holder, kind = members[0], value_kind(members[0], key)
    members = alternatives(kind)
    return path, holder, members[0] if len(members) == 1 else None


def alternatives(kind: Any) -> list[Any]:
    """The members of a union, without `Annotated` and `None`; of any other type, the type itself."""
    if get_origin(kind) is Annotated:
        return alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [choice for member in get_args(kind) if member is not type(None) for choice in alternatives(member)]
    return [kind]


def tags(kind: Any) -> set[str]:
    """What pydantic may call a member of a union: its name, or the literals of its discriminator."""
    literals = (field.annotation for field in fields(kind).values() if get_origin(field.annotation) is Literal)
    return {getattr(kind, "__name__", ""), *(value for literal in literals for value in get_args(literal))}


def value_kind(kind: Any, key: int | str) -> Any:
    """The type of the value at `key` in a value of type `kind`; None if it has no such key."""
    if field := fields(kind).get(str(key)):
        return field.annotation
    return get_args(kind)[-1] if get_origin(kind) in (dict, list) else None


def fields(kind: Any) -> dict[str, FieldInfo]:
    """The keys of a section class; none of another type."""
    return kind.model_fields if isinstance(kind, type) and issubclass(kind, Section) else {}


def flatten(node: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Every value by its dotted name: {"a": {"b": 1}} -> {"a.b": 1}."""
    flat: dict[str, Any] = {}
    for key, value in node.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat
