"""`nmt serve`: translate for whoever asks over HTTP."""

import resource
import sys
from pathlib import Path
from typing import Annotated

import typer
import uvicorn

from ..common import cores
from ..common.files import DataError
from ..decoding.glossary import Glossary
from ..decoding.settings import MOST_BEAM
from ..packaging.sealed import CONFIG
from ..serving import app, connections
from ..serving.engines import Engine, EngineKind
from ..serving.service import Options
from .translate import Terms

MODELS = Path("models")
FILES = 2048  # that may be open at once
END_SECONDS = 30  # that requests under way have when the server is to end


def serve(
    model: Annotated[
        list[Path] | None, typer.Option(help="Folder of a packaged system; may be repeated. Without: all of models/.")
    ] = None,
    engine: Annotated[
        EngineKind, typer.Option(help="What runs the networks; the last two for Transformers, others run in torch.")
    ] = "torch",
    host: Annotated[str, typer.Option(help="Address; beyond this machine only with --api-key.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 is any free one.")] = 5050,
    api_key: Annotated[
        list[str] | None, typer.Option(help="A key that clients must send; may be repeated.", envvar="NMT_API_KEY")
    ] = None,
    max_characters: Annotated[int, typer.Option(min=1, help="Characters of a request.")] = 100_000,
    split_sentences: Annotated[
        bool, typer.Option(help="Split lines into sentences; without, each line is one, as for nmt translate.")
    ] = True,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of CTranslate2; without: all cores.")] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, max=MOST_BEAM, help="Beam size, instead of those of the packaged systems.")
    ] = None,
    glossary: Terms = None,
) -> None:
    """Serve packaged systems over HTTP: LibreTranslate's /translate and /languages, and a page at /."""
    keys = api_key or []
    if not all(key.strip() for key in keys):
        raise DataError("--api-key: is blank, got no key; expected one, or no such option")
    if not keys and host not in app.LOOPBACK:
        raise DataError(f"--host: must be of this machine without --api-key, got {host!r}; expected 127.0.0.1")
    folders = model or sorted(path.parent for path in MODELS.glob(f"[!.]*/{CONFIG}"))  # a hidden one is not finished
    if not folders:
        raise DataError(f"{MODELS}/: has no packaged system; expected what `dvc repro package` writes, or --model")
    engines, terms = list[Engine](), Glossary(glossary) if glossary else None
    for folder in folders:
        print(f"{folder}: loads", file=sys.stderr)
        engines.append(Engine(folder, engine, threads or cores.count(), beam))
        engines[-1].translator.glossary = terms
    # The best of a pair is its default.
    engines.sort(key=lambda engine: (-(engine.score or 0.0), engine.config.validation.get("validation_loss", 0.0)))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 < soft < FILES:  # 256 on macOS; each connection is one
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    uvicorn.run(
        app.create(engines, Options(host, keys, max_characters, split_sentences)),
        host=host,
        port=port,
        http=connections.Connection,
        access_log=False,
        server_header=False,
        headers=app.HEADERS,
        timeout_graceful_shutdown=END_SECONDS,
    )
