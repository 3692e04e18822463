"""The bodies of requests: JSON or a form, read up to a limit and checked."""

from typing import Literal, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ..common.params import first_fault

FORM = "application/x-www-form-urlencoded"
MOST_ALTERNATIVES = 9
CHARACTER_BYTES = 12  # of one beyond the basic plane in a form (%F0%9F%98%80) and in JSON (\ud83d\ude00)
OVERHEAD_BYTES = 64 << 10  # names of fields, braces, quotes
MOST_FIELDS = 10_000  # of a form


class Question(BaseModel):
    """A text, or a list of texts."""

    q: str | list[str]
    api_key: str = ""
    system: str = ""  # its id; without it the best that can

    @property
    def texts(self) -> list[str]:
        """All texts."""
        return self.q if isinstance(self.q, list) else [self.q]


class TranslationRequest(Question):
    """Texts to translate."""

    source: str  # code of a language, or `auto`
    target: str
    format: Literal["text"] = "text"
    alternatives: int = Field(0, ge=0, le=MOST_ALTERNATIVES)


Q = TypeVar("Q", bound=Question)


async def read(request: Request, kind: type[Q], characters: int) -> Q:
    """The body of a request, JSON unless it is said to be a form; it may have so many characters, each text one more.

    Raises: HTTPException (400, 413).
    """
    most, body = CHARACTER_BYTES * characters + OVERHEAD_BYTES, bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise HTTPException(413, f"body: is too long; expected at most {most:,} bytes")
    try:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == FORM:
            fields = parse_qs(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
            question = kind.model_validate(
                {name: values if values[1:] else values[0] for name, values in fields.items()}
            )
        else:
            question = kind.model_validate_json(bytes(body))
    except ValidationError as error:
        raise HTTPException(400, first_fault(error, "body")) from None
    except ValueError as error:
        raise HTTPException(400, f"body: is no form, {error}; expected name=value&...") from None
    if (got := sum(map(len, question.texts)) + len(question.texts) - 1) > characters:
        raise HTTPException(413, f"q: is too long, got {got:,} characters; expected at most {characters:,}")
    return question
