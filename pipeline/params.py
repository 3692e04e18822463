"""Read sections of `params.yaml` into frozen, typed objects, or name every fault."""

import difflib
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

S = TypeVar("S", bound="Section")

PATH = Path("params.yaml")
DEFAULT = "default"  # of `training` and of each model: the values that a corpus or a size may replace
NAME = r"^[A-Za-z0-9_]+$"  # of everything that becomes part of a path or of a system's id

LARGEST = 2**31 - 1  # whole number: what is larger was mistyped, and many a library stumbles over it
MOST_VALUES = 100_000  # in a file, an alias counted wherever it stands
SHOWN = 200  # characters of a value that does not fit

Width = Annotated[int, Field(gt=0, le=2**16)]  # of a layer
Depth = Annotated[int, Field(gt=0, le=1000)]  # layers


class ParamsError(ValueError):
    """`params.yaml` does not fit the classes that read it."""


class Section(BaseModel):
    """A section of `params.yaml`: every key known, typed and unchangeable, none with a default."""

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
        return cls.merged([Part(find(read_yaml(path), name, path), name, path)])

    @classmethod
    def load_all(cls, *places: str) -> Self:
        """One section from several places: a key of a later one replaces that of an earlier one, with all below it.

        Raises: ParamsError listing every fault, each at the place of the key.
        """
        return cls.merged([Part.read(place) for place in places])

    @classmethod
    def load_own(cls, *places: str) -> Self:
        """As `load_all`, of this class's keys alone: the others at these places are for another class.

        Raises: ParamsError listing every fault, each at the place of the key.
        """
        return cls.merged([Part.read(place).only(cls.model_fields) for place in places])

    @classmethod
    def merged(cls, parts: "Sequence[Part]") -> Self:
        """The section that the parts make together, a later one's keys before an earlier one's.

        Raises: ParamsError listing every fault, each at the place of the key.
        """
        if faults := list(cls.merged_faults(parts)):
            raise ParamsError("\n".join(faults))
        return cls.model_validate(joined(parts))

    @classmethod
    def merged_faults(cls, parts: "Sequence[Part]") -> Iterator[str]:
        """One line per fault of the section that the parts make together, at the part which has the key."""
        for below, what in cls.details(joined(parts)):
            holders = [part for part in parts if below and isinstance(part.node, Mapping) and below[0] in part.node]
            part = (holders or parts)[-1]
            yield f"{part.path}: {'.'.join(filter(None, (part.name, *below)))}: {what}"

    @classmethod
    def faults(cls, node: Any, name: str, path: Path = PATH) -> Iterator[str]:
        """One line per fault of `node`, which stands at `name` in the file at `path`, or is all of it ("")."""
        return cls.merged_faults([Part(node, name, path)])

    @classmethod
    def details(cls, node: Any) -> Iterator[tuple[list[str], str]]:
        """The keys that lead to each fault of `node`, and the sentence about it."""
        try:
            cls.model_validate(node)
        except ValidationError as error:
            for detail in error.errors():
                yield fault(cls, detail)

    def changed(self, **values: Any) -> Self:
        """This section with other values of some keys."""
        return self.model_validate(self.model_dump() | values)


class Part(NamedTuple):
    """A node of a file, which a section is made of together with others."""

    node: Any
    name: str  # dotted, or "" for the whole file
    path: Path

    @classmethod
    def read(cls, place: str) -> "Part":
        """What stands at a place: `training.default` of params.yaml, `x.yaml:clean`, or all of a file, `x.yaml:`.

        Raises: ParamsError where there is nothing.
        """
        file, colon, name = place.rpartition(":")
        path = Path(file) if colon else PATH
        node = read_yaml(path)
        return cls(find(node, name, path) if name else node, name, path)

    def only(self, keys: Container[str]) -> "Part":
        """The part with these keys alone."""
        if not isinstance(self.node, Mapping):
            return self
        return self._replace(node={key: value for key, value in self.node.items() if key in keys})


def joined(parts: Sequence[Part]) -> Any:
    """The mappings of the parts as one; the first part that is no mapping instead, so that its fault is named."""
    whole: dict[Any, Any] = {}
    for part in parts:
        if not isinstance(part.node, Mapping):
            return part.node
        whole |= part.node
    return whole


def partial(kind: type[Section], required: Container[str] = ()) -> type[Section]:
    """A class with the keys of `kind`, typed alike, each of which may be left out but for the `required` ones."""
    keys: dict[str, Any] = {
        name: (field.annotation, field if name in required else FieldInfo.merge_field_infos(field, default=None))
        for name, field in kind.model_fields.items()
    }
    return create_model(f"Partial{kind.__name__}", __base__=Section, __doc__=kind.__doc__, **keys)


class Reader:
    """Loads the sections that a stage declared in its `READS`, and no others, so that dvc.yaml cannot miss one."""

    def __init__(self, reads: tuple[str, ...], **axes: str) -> None:
        self.reads, self.axes = reads, axes

    def __call__(self, kind: type[S], *templates: str) -> S:
        """Load the places, their axes filled in, as one `kind`: a later one's keys replace those of an earlier one."""
        return kind.load_all(*self.places(templates))

    def own(self, kind: type[S], *templates: str) -> S:
        """The same of the keys of `kind` alone, where another class's stand beside them."""
        return kind.load_own(*self.places(templates))

    def top(self, kind: type[S], template: str) -> S:
        """Load the keys at the top of a file, one for every field of `kind`."""
        self.places([f"{template}:{name}" for name in kind.model_fields])
        return kind.load_own(f"{template.format(**self.axes)}:")

    def places(self, templates: Sequence[str]) -> list[str]:
        """The templates, their axes filled in; all of them declared."""
        for template in templates:
            assert template in self.reads, f"{template} is not in READS {self.reads}"
        return [template.format(**self.axes) for template in templates]


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML 1.2 file, read as DVC reads it.

    Raises: ParamsError where the file is missing, is no YAML or holds no mapping.
    """
    yaml = YAML(typ="safe", pure=True)  # not by ruamel.yaml.clib, whose messages are others
    try:
        whole = yaml.compose(path)
        if whole is not None and num_values(whole, {}) > MOST_VALUES:
            raise ParamsError(f"{path}: holds more than {MOST_VALUES} values, aliases counted; expected far fewer")
        node = None if whole is None else yaml.constructor.construct_document(whole)
    except RecursionError:
        raise ParamsError(f"{path}: is nested too deeply; expected sections in sections, a few deep") from None
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such file; expected in the folder the command runs in") from None
    except YAMLError as error:
        raise ParamsError(f"{path}{broken(error)}") from None
    if not isinstance(node, dict):
        got = "nothing" if node is None else shown(node)
        raise ParamsError(f"{path}: must be a mapping of sections, got {got}")
    return node


def num_values(node: Node, known: dict[int, int]) -> int:
    """How many values a YAML node holds, each alias counted as what it stands for: what is read would be as large.

    Raises: RecursionError where a node holds itself.
    """
    if id(node) not in known:
        children = chain.from_iterable(node.value) if isinstance(node, MappingNode) else node.value
        within = () if isinstance(node, ScalarNode) else children
        known[id(node)] = 1 + sum(num_values(child, known) for child in within)
    return known[id(node)]


def shown(value: Any) -> str:
    """A value as a message shows it: the beginning of a long one."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def broken(error: YAMLError) -> str:
    """Where a file is no YAML and why, in one line."""
    if isinstance(error, MarkedYAMLError) and error.problem_mark:
        what = ", ".join(part for part in (error.context, error.problem) if part)
        mark = error.problem_mark
        what = re.sub(r'(duplicate key ".*?") with value .*', r"\1", what, flags=re.DOTALL)
        return f" line {mark.line + 1} column {mark.column + 1}: not valid YAML, {' '.join(what.split())}"
    return f": not valid YAML, {str(error).splitlines()[0]}, at character {getattr(error, 'position', 0) + 1}"


def find(node: Any, name: str, path: Path = PATH) -> Any:
    """What stands at `name` (dots descend) below `node`.

    Raises: ParamsError naming the first key that is not there and the nearest one that is.
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
    """`; nearest is 'x'` for the choice most like `name`, or the list of choices where none is like it."""
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
    """The fault at the key that a whole section's message begins with: `heads: must ...` or `heads must ...`."""
    begin = re.match(r"([\w.]+)(?:: | (?=must ))(.*)", message, flags=re.DOTALL)
    if begin and begin[1].split(".")[0] in names:
        return [*path, begin[1]], begin[2]
    return path, message


def follow(kind: Any, location: tuple[int | str, ...]) -> tuple[list[str], Any, Any]:
    """The file's keys along pydantic's `location`, the class that holds the last one, and the class of its value.

    The location also has the tags of union members and `[key]` after a bad key, neither of which stands in the file.
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
    """The types that a type may be, `Annotated` and `None` aside."""
    if get_origin(kind) is Annotated:
        return alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [choice for member in get_args(kind) if member is not type(None) for choice in alternatives(member)]
    return [kind]


def tags(kind: Any) -> set[str]:
    """What pydantic may call a member of a union: its name, or the literals that it is told by."""
    literals = (field.annotation for field in fields(kind).values() if get_origin(field.annotation) is Literal)
    return {getattr(kind, "__name__", ""), *(value for literal in literals for value in get_args(literal))}


def value_kind(kind: Any, key: int | str) -> Any:
    """The type of what stands at `key` in a value of type `kind`; None where there is none."""
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
