"""The routes of DeepL's API (https://developers.deepl.com/docs), so far as a server of our own systems has a use."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from pipeline.serving import bodies, languages
from pipeline.serving.errors import ServingError
from pipeline.serving.libretranslate import loaded
from pipeline.serving.requests import admitted, counted, note, service_of, unless_left
from pipeline.serving.service import SPLITTING, Asked
from pipeline.serving.systems import AUTO

router = APIRouter(prefix="/v2")
UNLIMITED = 10**12  # as DeepL says to accounts without a limit
TAGS = ("", "html", "xml")
# Fields that ask for what no system here can do.
LEFT_OUT = ("glossary_id", "style_id", "custom_instructions", "splitting_tags", "non_splitting_tags")


@router.post("/translate")
async def translate(request: Request) -> JSONResponse:
    """Translate one text or several."""
    async with admitted(request) as fields:
        texts, asked = bodies.texts(fields, "text"), how(fields)
        found = await unless_left(request, service_of(request).translate(texts, asked))
        note(request, texts, [one.text for one in found])
        billed = truth(fields.get("show_billed_characters"))
        return JSONResponse(
            {
                "translations": [
                    {"detected_source_language": one.language.upper(), "text": one.text}
                    | ({"billed_characters": len(text)} if billed else {})
                    for text, one in zip(texts, found, strict=True)
                ]
            }
        )


def how(fields: bodies.Fields) -> Asked:
    """How the fields ask for a translation.

    Raises: ServingError (400, 422).
    """
    for name in LEFT_OUT:
        if fields.get(name):
            raise ServingError(400, f"{name}: is not supported; expected a request without it")
    if (formality := bodies.optional(fields, "formality")) and formality in ("more", "less"):
        raise ServingError(
            400, f"formality: is not supported, got {formality!r}; expected default or prefer_{formality}"
        )
    if not bodies.optional(fields, "target_lang"):
        raise ServingError(422, "target_lang: is missing; expected the code of a language, such as EN")
    return Asked(
        source=(bodies.optional(fields, "source_lang") or AUTO).lower(),
        target=bodies.one_text(fields, "target_lang").lower(),
        form="html" if bodies.choice(fields, "tag_handling", TAGS) else "text",
        splitting=SPLITTING[bodies.choice(fields, "split_sentences", tuple(SPLITTING))],
        left_alone=tags(fields, "ignore_tags"),
    )


def tags(fields: bodies.Fields, name: str) -> frozenset[str]:
    """A field with names of elements: a list, or commas between.

    Raises: ServingError (422).
    """
    given = fields.get(name) or []
    listed = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise ServingError(422, f"{name}: must be a list of names; expected such as x,keep")
    return frozenset(one.strip().lower() for one in listed)


def truth(given: Any) -> bool:
    """A field that JSON spells as true, and a form as 1 or true."""
    return given is True or given in ("1", "true")


@router.get("/languages")
@router.post("/languages")
async def all_languages(request: Request) -> JSONResponse:
    """The source languages, or with `type=target` the target languages; DeepL's client sends that as a GET's body."""
    async with counted(request):  # no key is needed
        fields = await bodies.read(request, service_of(request).limits.timeout_seconds)
    targets = loaded(service_of(request)).systems.targets()
    if fields.get("type") == "target":
        found = sorted({target for into in targets.values() for target in into})
    else:
        found = [source for source, into in targets.items() if into]
    return JSONResponse(
        [{"language": one.upper(), "name": languages.name(one), "supports_formality": False} for one in found]
    )


@router.get("/usage")
@router.post("/usage")
async def usage(request: Request) -> JSONResponse:
    """How many characters the client has had translated since the server was started."""
    async with admitted(request):
        used = service_of(request).characters.get(request.state.account, 0)
        return JSONResponse({"character_count": used, "character_limit": UNLIMITED})
