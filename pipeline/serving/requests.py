"""The bodies of requests: JSON or a form, read up to a limit and checked."""

import asyncio
from typing import Annotated, Literal, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from ..common.params import first_fault

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MOST_SENTENCES = 5_000  # of a request
CHARACTER_BYTES = 12  # of one beyond the basic plane in a form (%F0%9F%98%80) and in JSON (\ud83d\ude00)
OVERHEAD_BYTES = 64 << 10  # names of fields, braces, quotes
BODY_SECONDS = 30  # in which a body comes
CLIENT_LEFT = 499  # the status as nginx logs it


class Question(BaseModel):
    """A list of texts, or a text."""

    q: Annotated[list[str], Field(fail_fast=True)] | str  # of 600,000 faults the first says enough
    system: str = ""  # its id; without it the best that can
    api_key: str = ""

    @property
    def texts(self) -> list[str]:
        """All texts."""
        return self.q if isinstance(self.q, list) else [self.q]


class TranslationRequest(Question):
    """Texts to translate."""

    source: str  # code of a language, or `auto`
    target: str
    format: Literal["text"] = "text"
    alternatives: int = Field(0, ge=0, le=9)


Q = TypeVar("Q", bound=Question)


async def read(request: Request, characters: int) -> bytes:
    """The body of a request whose texts may have so many characters.

    Raises: HTTPException (408, 413, 499).
    """
    most, body = CHARACTER_BYTES * characters + OVERHEAD_BYTES, bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise HTTPException(413, f"body: is too long; expected at most {most:,} bytes")
    except TimeoutError:
        raise HTTPException(408, f"body: is not complete; expected all of it within {BODY_SECONDS} seconds") from None
    except ClientDisconnect:
        raise HTTPException(CLIENT_LEFT, "client: left before its request was complete") from None
    return bytes(body)


def parsed(request: Request, body: bytes, kind: type[Q], characters: int) -> Q:
    """The body of a request as JSON or a form, which its content type says.

    Raises: HTTPException (400, 413, 415).
    """
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content not in (JSON, FORM):  # a page elsewhere may send text, which must not be taken for JSON
        raise HTTPException(415, f"content-type: is not supported, got {content[:50]!r}; expected {JSON} or {FORM}")
    try:
        if content == JSON:
            question = kind.model_validate_json(body)
        else:
            fields = parse_qs(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=2 * MOST_SENTENCES)
            question = kind.model_validate({name: given if given[1:] else given[0] for name, given in fields.items()})
    except ValueError as error:
        what = first_fault(error, "body") if isinstance(error, ValidationError) else f"body: is no form, {error}"
        raise HTTPException(400, what) from None
    # Each text counts as one more, so that not even empty ones are without limit.
    if (got := sum(map(len, question.texts)) + len(question.texts) - 1) > characters:
        raise HTTPException(413, f"q: is too long, got {got:,} characters; expected at most {characters:,}")
    return question
