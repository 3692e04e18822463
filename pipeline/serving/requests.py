"""The bodies of requests: JSON or a form, read up to a limit and checked."""

from typing import Literal, TypeVar
from urllib.parse import parse_qs

from fastapi import HTTPException, Request
from pydantic import BaseModel, Field, ValidationError

FORM = "application/x-www-form-urlencoded"
MOST_ALTERNATIVES = 9
CHARACTER_BYTES = 12  # of one beyond the basic plane in a form (%F0%9F%98%80) and in JSON (\ud83d\ude00)
OVERHEAD_BYTES = 64 << 10  # names of fields, braces, quotes
MOST_FIELDS = 10_000  # of a form


class Keyed(BaseModel):
    """What every request may have."""

    api_key: str = ""
    system: str = ""  # its id; without it the best that fits


class TranslationRequest(Keyed):
    """A text to translate, or a list of texts."""

    q: str | list[str]
    source: str  # code of a language, or `auto`
    target: str
    format: Literal["text"] = "text"
    alternatives: int = Field(0, ge=0, le=MOST_ALTERNATIVES)

    @property
    def texts(self) -> list[str]:
        """All texts."""
        return self.q if isinstance(self.q, list) else [self.q]


class AttentionRequest(Keyed):
    """A sentence."""

    q: str


T = TypeVar("T", bound=Keyed)


async def read(request: Request, kind: type[T], characters: int) -> T:
    """The body of a request that may have so many characters of text, each text counted as one more.

    Raises: HTTPException (400, 413).
    """
    most, body = CHARACTER_BYTES * characters + OVERHEAD_BYTES, bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise HTTPException(413, f"body: is too long; expected at most {most:,} bytes")
    try:
        found = parsed(bytes(body), request.headers.get("content-type", ""), kind)
    except ValidationError as error:
        raise HTTPException(400, fault(error)) from None
    except ValueError as error:
        raise HTTPException(400, f"body: is no form, {error}; expected name=value&...") from None
    texts = found.texts if isinstance(found, TranslationRequest) else [getattr(found, "q", "")]
    if (got := sum(map(len, texts)) + len(texts) - 1) > characters:
        raise HTTPException(413, f"q: is too long, got {got:,} characters; expected at most {characters:,}")
    return found


def parsed(body: bytes, content_type: str, kind: type[T]) -> T:
    """A body as what it says it is, else as JSON."""
    if content_type.partition(";")[0].strip().lower() != FORM:
        return kind.model_validate_json(body)
    fields = parse_qs(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    return kind.model_validate({name: given if len(given) > 1 else given[0] for name, given in fields.items()})


def fault(error: ValidationError) -> str:
    """The first fault of a body in a line."""
    first = error.errors(include_url=False)[0]
    where, what = str(first["loc"][0]) if first["loc"] else "body", first["msg"]
    got = "" if first["type"] == "missing" else f", got {str(first['input'])[:50]!r}"
    return f"{where}: {what[:1].lower()}{what[1:]}{got}"
