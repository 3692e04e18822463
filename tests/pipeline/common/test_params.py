"""Sections are read typed and whole, and every fault is named at its key: each message by its text."""

import math
from typing import Annotated, Literal

import pytest
from pydantic import (
    Field,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from pipeline.common import params
from pipeline.common.params import ParamsError, Section


class Noam(Section):
    kind: Literal["noam"]
    warm_up: PositiveInt


class Files(Section):
    kind: Literal["files"]
    files: list[PositiveInt]
    first: Literal["source", "target"]


Choice = Annotated[Noam | Files, Field(discriminator="kind")]
Word = Annotated[str, StringConstraints(pattern=params.NAME)]


class Tiny(Section):
    width: PositiveInt
    heads: PositiveInt
    rate: PositiveFloat
    limit: PositiveInt | None

    @field_validator("heads")
    @classmethod
    def divide_width(cls, heads: int, info: ValidationInfo) -> int:
        if info.data.get("width", heads) % heads:
            raise ValueError(f"must divide width {info.data['width']}, got {heads}")
        return heads


class Interval(Section):
    low: int
    high: int
    further: list[int]

    @model_validator(mode="after")
    def ordered(self):
        if self.low > self.high:
            raise ValueError(f"high must be at least low {self.low}, got {self.high}")
        if self.low == self.high:
            raise ValueError(f"further.0: nothing lies between, got {self.low}")
        if self.further:
            raise ValueError(f"must have no further one, got {self.further}")
        return self


class Whole(Section):
    choice: Choice
    parts: dict[Word, Choice]
    interval: Interval
    either: int | Literal["auto"]


TINY = "tiny: {width: 128, heads: 8, rate: 2e-3, limit: 5}\n"
NOAM, FILES = "{kind: noam, warm_up: 4}", "{kind: files, files: [1], first: source}"


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load a section of a params.yaml with the given text."""
    monkeypatch.chdir(tmp_path)

    def load_text(text, kind=Tiny, name="tiny"):
        (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
        return kind.load(name)

    return load_text


@pytest.fixture
def message(load):
    """What loading such a section says."""

    def message_of(text, kind=Tiny, name="tiny"):
        with pytest.raises(ParamsError) as error:
            load(text, kind, name)
        return str(error.value)

    return message_of


def whole(choice=NOAM, parts=f"{{a: {NOAM}}}", interval="{low: 1, high: 2, further: []}", either="3"):
    return f"m:\n  choice: {choice}\n  parts: {parts}\n  interval: {interval}\n  either: {either}\n"


def test_section_is_typed_and_frozen(load):
    tiny = load(TINY)
    assert tiny == Tiny(width=128, heads=8, rate=0.002, limit=5)
    with pytest.raises(ValueError, match="frozen"):
        tiny.width = 64


def test_yaml_is_version_1_2(load):
    """`3e-4` is a number and `no` is text, as for DVC."""
    assert load("tiny: {width: 2, heads: 1, rate: 3e-4, limit: null}\n").rate == 0.0003
    with pytest.raises(ParamsError, match="should be a valid integer, got 'no'"):
        load("tiny: {width: no, heads: 1, rate: 3e-4, limit: null}\n")


def test_all_faults_at_once(message):
    assert message("tiny: {width: 8.5, heds: 8, rate: -1, limit: '5'}\n") == "\n".join(
        [
            "params.yaml: tiny.width: should be a valid integer, got 8.5",
            "params.yaml: tiny.heads: is missing",
            "params.yaml: tiny.rate: should be greater than 0, got -1",
            "params.yaml: tiny.limit: should be a valid integer, got '5'",
            "params.yaml: tiny.heds: unknown key; nearest is 'heads'",
        ]
    )


@pytest.mark.parametrize(
    ("tiny", "expected"),
    [
        ("{width: true, heads: 8, rate: 1, limit: 5}", "tiny.width: should be a valid integer, got True"),
        ("{width: 128, heads: 8, rate: .inf, limit: 5}", "tiny.rate: should be a finite number, got inf"),
        ("{width: 128, heads: 6, rate: 1, limit: 5}", "tiny.heads: must divide width 128, got 6"),
        ("{width: 128, heads: 8, rate: 1, limit: 5, 7: 1}", "tiny.7: Keys should be strings, got 7"),
        ("[128, 8]", "tiny: should be a mapping, got [128, 8]"),
    ],
)
def test_one_fault(message, tiny, expected):
    assert message(f"tiny: {tiny}\n") == f"params.yaml: {expected}"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"choice": "{kind: noam, warm_up: 4, warmup: 4}"}, "m.choice.warmup: unknown key; nearest is 'warm_up'"),
        (
            {"choice": "{kind: files, files: [1, x], first: source}"},
            "m.choice.files.1: should be a valid integer, got 'x'",
        ),
        ({"choice": "{kind: files, first: source}"}, "m.choice.files: is missing"),
        ({"choice": "{kind: naom, warm_up: 4}"}, "m.choice.kind: unknown choice, got 'naom'; nearest is 'noam'"),
        ({"choice": "{warm_up: 4}"}, "m.choice.kind: is missing"),
        ({"choice": "noam"}, "m.choice: should be a mapping, got 'noam'"),
        ({"parts": "{noam: {kind: noam, warm_up: x}}"}, "m.parts.noam.warm_up: should be a valid integer, got 'x'"),
        ({"parts": f"{{a-b: {NOAM}}}"}, "m.parts.a-b: should be letters, digits and underscores, got 'a-b'"),
        ({"interval": "{low: 3, high: 2, further: []}"}, "m.interval.high: must be at least low 3, got 2"),
        ({"interval": "{low: 2, high: 2, further: []}"}, "m.interval.further.0: nothing lies between, got 2"),
        ({"interval": "{low: 1, high: 2, further: [1]}"}, "m.interval: must have no further one, got [1]"),
    ],
)
def test_path_is_the_files_letter_for_letter(message, parts, expected):
    """Without pydantic's names of union members; the key is named where a whole section's message begins with it."""
    assert message(whole(**parts), Whole, "m") == f"params.yaml: {expected}"


def test_neither_of_two_types(message):
    assert message(whole(either="x"), Whole, "m") == (
        "params.yaml: m.either: should be a valid integer, got 'x'\nparams.yaml: m.either: should be 'auto', got 'x'"
    )


def test_no_such_section(message):
    assert message(TINY, name="tany") == "params.yaml: tany: no such section; nearest is 'tiny'"
    assert message("m: {a: {}, b: {}}\n", name="m.x.y") == "params.yaml: m.x: no such section; expected one of a, b"
    assert message("m: 3\n", name="m.x") == "params.yaml: m.x: no such section"


def test_file_is_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParamsError) as error:
        Tiny.load("tiny")
    assert str(error.value) == "params.yaml: no such file; expected in the folder the command runs in"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ": must be a mapping of sections, got None"),
        ("a: [1\nb: 2\n", " line 2 column 2: not valid YAML, expected ',' or ']', but got ':'"),
        ("a: b: c\n", " line 1 column 5: not valid YAML, mapping values are not allowed here"),
        ("a: 1\nb: 2\na: {c: 3}\n", ' line 3 column 1: not valid YAML, found duplicate key "a"'),
        ("a: \x01\n", ": not valid YAML, unacceptable character #x0001: special characters are not allowed"),
        ("licence: 2024-02-30\n", ": not valid YAML, day is out of range for month"),
        ("a: !!bool abc\n", ": not valid YAML, 'abc'"),
    ],
)
def test_broken_file_is_one_line(message, text, expected):
    assert message(text) == f"params.yaml{expected}"


def test_flatten():
    assert params.flatten({"a": {"b": 1, "c": {"d": [2]}}, "e": "f"}) == {"a.b": 1, "a.c.d": [2], "e": "f"}


def test_a_section_with_other_values():
    section = Shape(width=4, rate=0.5, name="x")
    assert section.changed() == section
    assert section.changed(name=None, width=5) == Shape(width=5, rate=0.5, name=None)
    with pytest.raises(ParamsError) as error:
        section.changed(width=0, rate=math.inf)
    assert str(error.value).splitlines() == [
        "width: should be greater than 0, got 0",
        "rate: should be a finite number, got inf",
    ]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A params.yaml and a file of a corpus, in the folder to which the test goes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(
        "default: {width: 4, rate: 0.5, name: null}\nown: {rate: 0.25}\nempty: {}\nbad: {width: 0, rat: 1}\nno: 3\n"
    )
    (tmp_path / "x.yaml").write_text("width: 6\nother: {name: x, width: 5, colour: red}\nbad: {width: -1}\n")


def test_a_later_place_replaces_the_keys_of_an_earlier_one(files):
    assert Shape.load("default", "own") == Shape(width=4, rate=0.25, name=None)
    assert Shape.load("default", "empty") == Shape(width=4, rate=0.5, name=None)
    assert Shape.load_own("default", "x.yaml:other") == Shape(width=5, rate=0.5, name="x")
    assert Shape.load_own("default", "x.yaml:") == Shape(width=6, rate=0.5, name=None)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (("default", "bad"), ["bad.width: should be greater than 0, got 0", "bad.rat: unknown key; nearest is 'rate'"]),
        (("default", "no"), ["no: should be a mapping, got 3"]),
        (("own", "empty"), ["empty.width: is missing", "empty.name: is missing"]),
        (("default", "gone"), ["gone: no such section; expected one of bad, default, empty, no, own"]),
    ],
)
def test_a_fault_is_named_at_the_place_of_its_key(files, places, expected):
    with pytest.raises(ParamsError) as caught:
        Shape.load(*places)
    assert str(caught.value).splitlines() == [f"params.yaml: {line}" for line in expected]


def test_a_fault_in_another_file_names_that_file(files):
    with pytest.raises(ParamsError, match=r"^x.yaml: bad.width: should be greater than 0, got -1$"):
        Shape.load("default", "x.yaml:bad")


def test_the_top_of_a_file_is_read_by_the_fields_of_a_class(files):
    with pytest.raises(ParamsError, match=r"^x.yaml: rate: is missing\nx.yaml: name: is missing$"):
        Shape.load_own("x.yaml:")


class Shape(Section):
    width: PositiveInt
    rate: float
    name: str | None
