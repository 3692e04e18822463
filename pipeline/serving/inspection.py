"""Routes of our own: which systems there are, what one looks at, and documents sentence by sentence."""

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from pipeline.serving import bodies, errors, libretranslate
from pipeline.serving.errors import ServingError
from pipeline.serving.requests import admitted, enter, leave, note, service_of, unless_left

router = APIRouter()
LINES = "application/x-ndjson"


@router.get("/systems")
async def all_systems(request: Request) -> JSONResponse:
    """Every system: its languages, its model, its scores and its model card."""
    return JSONResponse([one.about() for one in libretranslate.loaded(service_of(request)).systems.all])


@router.post("/attention")
async def attention(request: Request) -> Response:
    """What a system looks at while it translates a line: pieces of both sides, and weights."""
    async with admitted(request) as fields:
        line = bodies.one_text(fields, "q")
        asked = service_of(request).attention(line, bodies.optional(fields, "system"))
        translation, record = await unless_left(request, asked)
        note(request, [line], [translation])
        return Response(record, media_type="application/json")


@router.post("/translate/stream")
async def stream(request: Request) -> Response:
    """A line of JSON for each sentence as soon as it is translated, in order, and one for the whole text."""
    fields = await enter(request)
    try:
        text, asked = bodies.one_text(fields, "q"), libretranslate.how(fields, service_of(request))
        records = service_of(request).stream(text, asked)
        first = await unless_left(request, anext(records))  # what is refused has a status of its own
    except BaseException:
        leave(request)
        raise
    return StreamingResponse(lines(request, text, first, records), media_type=LINES)


async def lines(
    request: Request, text: str, first: dict[str, Any], records: AsyncIterator[dict[str, Any]]
) -> AsyncIterator[bytes]:
    """The records as lines; an error on the way is the last one."""
    record = first
    try:
        yield line(record)
        async for record in records:
            yield line(record)
        note(request, [text], [str(record["translatedText"])])
    except ServingError as error:
        yield line(errors.body(request.url.path, error))
    finally:
        await records.aclose()  # type: ignore[attr-defined]  # it is a generator, whose sentences are dropped
        leave(request)


def line(record: dict[str, Any]) -> bytes:
    """A line of JSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
