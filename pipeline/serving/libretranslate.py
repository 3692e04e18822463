"""The routes of LibreTranslate (https://docs.libretranslate.com), with `system` and `confidence` besides.

A field that is missing or of the wrong kind is 422 here, where LibreTranslate says 400; both say {"error": "..."}.
"""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from pipeline.serving import bodies, languages
from pipeline.serving.documents import Form
from pipeline.serving.errors import ServingError
from pipeline.serving.requests import admitted, note, service_of, unless_left
from pipeline.serving.service import SPLITTING, Asked, Service, Translated
from pipeline.serving.systems import AUTO

router = APIRouter()
FORMS: tuple[Form, ...] = ("text", "html")
PERCENT = 100


@router.post("/translate")
async def translate(request: Request) -> JSONResponse:
    """Translate a text, or a list of texts."""
    async with admitted(request) as fields:
        texts = bodies.texts(fields, "q")
        asked = how(fields, service_of(request))
        found = await unless_left(request, service_of(request).translate(texts, asked))
        note(request, texts, [one.text for one in found])
        return JSONResponse(answer(found, asked, is_list=isinstance(fields["q"], list)))


def how(fields: bodies.Fields, service: Service) -> Asked:
    """How the fields ask for a translation."""
    for name in ("source", "target"):
        if not bodies.optional(fields, name):
            raise ServingError(422, f"{name}: is missing; expected the code of a language, such as en")
    return Asked(
        source=bodies.one_text(fields, "source"),
        target=bodies.one_text(fields, "target"),
        system=bodies.optional(fields, "system"),
        form="html" if bodies.choice(fields, "format", FORMS) == "html" else "text",
        splitting=SPLITTING[bodies.choice(fields, "split_sentences", tuple(SPLITTING))],
        alternatives=bodies.count(fields, "alternatives", service.limits.alternatives),
    )


def answer(found: list[Translated], asked: Asked, *, is_list: bool) -> dict[str, Any]:
    """The body of an answer: each value for the one text, or a list of values for a list."""
    values: dict[str, list[Any]] = {
        "translatedText": [one.text for one in found],
        "confidence": [one.confidence for one in found],
        "sentenceConfidences": [one.confidences for one in found],
        "system": [one.system for one in found],
    }
    if asked.alternatives:
        values["alternatives"] = [one.alternatives for one in found]
    if asked.source == AUTO:
        values["detectedLanguage"] = [detection(one.language, one.probability) for one in found]
    return {name: value if is_list else value[0] for name, value in values.items()}


def detection(language: str, probability: float) -> dict[str, Any]:
    """A recognised language; LibreTranslate counts confidence from 0 to 100."""
    return {"language": language, "confidence": round(PERCENT * probability, 1)}


@router.post("/detect")
async def detect(request: Request) -> JSONResponse:
    """Recognise the language of a text, among those that are loaded."""
    async with admitted(request) as fields:
        text = bodies.one_text(fields, "q")
        found = await unless_left(request, service_of(request).detected(text))
        note(request, [text], [])
        return JSONResponse([detection(*one) for one in found])


@router.get("/languages")
async def all_languages(request: Request) -> JSONResponse:
    """The languages that are loaded, and into which each can be translated."""
    targets = loaded(service_of(request)).systems.targets()
    return JSONResponse(
        [{"code": code, "name": languages.name(code), "targets": into} for code, into in targets.items()]
    )


@router.get("/frontend/settings")
async def settings(request: Request) -> JSONResponse:
    """What LibreTranslate's page and its plugins ask of a server."""
    service = loaded(service_of(request))
    first = service.systems.all[0]
    return JSONResponse(
        {
            "apiKeys": bool(service.keys),
            "charLimit": service.limits.characters,
            "filesTranslation": False,
            "frontendTimeout": 500,
            "keyRequired": bool(service.keys),
            "language": {
                "source": {"code": first.source, "name": languages.name(first.source)},
                "target": {"code": first.target, "name": languages.name(first.target)},
            },
            "suggestions": False,
            "supportedFilesFormat": [],
        }
    )


def loaded(service: Service) -> Service:
    """The service, once it has its systems.

    Raises: ServingError (503).
    """
    if not service.systems.all:
        raise ServingError(503, "server: still loads its models, got no system yet; expected another try", 2)
    return service
