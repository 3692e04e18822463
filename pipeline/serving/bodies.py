"""The fields of a request: JSON or a form, checked."""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request

from pipeline.serving.errors import LEFT, ServingError

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MOST_FIELDS = 10_000
MOST_DIGITS = 18  # of a number in a form; Python refuses to read thousands
Fields = dict[str, Any]


async def read(request: Request, seconds: float) -> Fields:
    """The fields of a body; of a form, and of the address's query then, one value a name or a list of them.

    A GET without a body has its query.

    Raises: ServingError (408, 415, 422; 499, which nobody reads). What bounds the body is `security.Guard`.
    """
    if request.method == "GET" and request.headers.get("content-length", "0") == "0":
        return from_form(request.url.query)
    try:
        async with asyncio.timeout(seconds):
            raw = await request.body()
    except ClientDisconnect:
        raise ServingError(LEFT, "client: left before the end of its body") from None
    except TimeoutError:
        raise ServingError(408, f"body: did not come, waited {seconds:.0f} s; expected all of it") from None
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind == JSON:
        return from_json(raw)
    if kind == FORM:
        return from_form(request.url.query) | from_form(text(raw))
    raise ServingError(415, f"content-type: is not understood, got {kind!r}; expected {JSON} or {FORM}")


def from_json(raw: bytes) -> Fields:
    """The fields of a JSON object."""
    try:
        found = json.loads(text(raw))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ServingError):
            raise
        at = "its depth" if isinstance(error, RecursionError) else "a number of too many digits"
        if isinstance(error, json.JSONDecodeError):
            at = f"column {error.colno} of line {error.lineno}"
        raise ServingError(422, f"body: is not valid JSON at {at}; expected an object with the field q") from None
    if not isinstance(found, dict):
        raise ServingError(422, f"body: must be a JSON object, got {kind_of(found)}")
    return found


def from_form(raw: str) -> Fields:
    """The fields of a form, with lines ended as in text files."""
    try:
        found = parse_qs(raw, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise ServingError(422, f"body: is not a valid form, {error}; expected name=value&...") from None
    values = {name: [value.replace("\r\n", "\n") for value in values] for name, values in found.items()}
    return {name: value[0] if len(value) == 1 else value for name, value in values.items()}


def text(raw: bytes) -> str:
    """Bytes as UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ServingError(422, f"body: invalid UTF-8 at byte {error.start}; expected text in UTF-8") from None


def one_text(fields: Fields, name: str) -> str:
    """A field that must be a text."""
    if name not in fields:
        raise ServingError(422, f"{name}: is missing; expected a text")
    return checked(fields[name], name)


def texts(fields: Fields, name: str) -> list[str]:
    """A field that must be a list of texts; a single one stands for a list of it."""
    if name not in fields:
        raise ServingError(422, f"{name}: is missing; expected a text or a list of texts")
    given = fields[name]
    return [checked(one, name) for one in (given if isinstance(given, list) else [given])]


def optional(fields: Fields, name: str) -> str | None:
    """A field that may be missing, or empty, which is the same."""
    given = fields.get(name)
    return (checked(given, name) or None) if given is not None else None


def choice(fields: Fields, name: str, among: Sequence[str]) -> str:
    """A field that must be one of a few words; the first if it is missing."""
    given = optional(fields, name) or among[0]
    if given not in among:
        raise ServingError(422, f"{name}: unknown, got {given[:50]!r}; expected {' or '.join(filter(None, among))}")
    return given


def count(fields: Fields, name: str, most: int) -> int:
    """A field that must be a number from 0 to `most`; 0 if it is missing."""
    given = fields.get(name)
    number = int(given) if isinstance(given, str) and re.fullmatch(rf"[0-9]{{1,{MOST_DIGITS}}}", given) else given
    if number is None or number == "":
        return 0
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= most:
        raise ServingError(422, f"{name}: must be a whole number from 0 to {most}, got {str(given)[:50]}")
    return number


def checked(given: Any, name: str) -> str:
    """A value that must be text; halves of characters, which JSON can spell, are none."""
    if not isinstance(given, str):
        raise ServingError(422, f"{name}: must be text, got {kind_of(given)}")
    try:
        given.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ServingError(422, f"{name}: has half a character at position {error.start}; expected text") from None
    return given


def kind_of(value: Any) -> str:
    """JSON's name for the kind of a value."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
