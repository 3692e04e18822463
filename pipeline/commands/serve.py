"""`nmt serve`: translate for whoever asks over HTTP."""

import math
import os
import re
from pathlib import Path
from typing import Annotated

import typer

from pipeline import cores
from pipeline.decoding.settings import MOST_BEAM
from pipeline.files import DataError, read_json
from pipeline.packaging.package import CONFIG
from pipeline.serving import security, server
from pipeline.serving.app import Options
from pipeline.serving.limits import Limits

MODELS = Path("models")
ENGINES = ("torch", "ctranslate2", "ctranslate2-int8")
KEY = "NMT_API_KEY"
PUBLIC_REQUESTS = 600  # a minute, of each client of a server that anybody may ask
ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
USUAL_PORTS = {"http": ":80", "https": ":443"}  # which browsers leave out


def serve(
    model: Annotated[
        list[Path] | None, typer.Option(help="Folder of a packaged system; may be repeated. Without: all of models/.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 is any free one.")] = 5050,
    engine: Annotated[str, typer.Option(help=f"{', '.join(ENGINES)}; the last two for Transformers.")] = ENGINES[0],
    api_key: Annotated[
        list[str] | None,
        typer.Option(help=f"A key that clients must send; may be repeated. Safer: {KEY}, or --api-key-file."),
    ] = None,
    api_key_file: Annotated[Path | None, typer.Option(help="A file of keys, one a line.")] = None,
    public: Annotated[bool, typer.Option("--public", help="Listen beyond this machine without a key.")] = False,
    cors: Annotated[
        list[str] | None, typer.Option(help="Origin whose pages may ask, such as https://example.org; or *.")
    ] = None,
    split_sentences: Annotated[
        bool, typer.Option(help="Split lines into sentences; without, each line is one, as for nmt translate.")
    ] = True,
    log_text: Annotated[bool, typer.Option("--log-text", help="Log texts and translations.")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of each worker; without: all cores.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that each hold all models.")] = 1,
    max_characters: Annotated[int, typer.Option(min=1, help="Characters of a request.")] = 100_000,
    queue: Annotated[int, typer.Option(min=1, help="Sentences that may wait.")] = 10_000,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a request may take.")] = 60.0,
    rate: Annotated[
        int | None,
        typer.Option(min=1, help=f"Requests a minute of each client; without: any, with --public {PUBLIC_REQUESTS}."),
    ] = None,
    per_client: Annotated[int, typer.Option(min=1, help="Requests of one client at once.")] = 100,
    glossary: Annotated[Path | None, typer.Option(help="Fixed translations: a term, a tab, its translation.")] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, max=MOST_BEAM, help="Beam size, instead of those of the packaged systems.")
    ] = None,
) -> None:
    """Serve packaged systems over HTTP: LibreTranslate's API, DeepL's /v2/translate, and a page at /.

    Any address but this machine's own needs an API key or --public. SIGTERM and Ctrl-C finish what is under way.
    """
    if engine not in ENGINES:
        raise DataError(f"--engine: unknown, got {engine!r}; expected {', '.join(ENGINES)}")
    if not math.isfinite(timeout):
        raise DataError(f"--timeout: must be a finite number, got {timeout}; expected seconds, such as 60")
    keys = all_keys(api_key or [], api_key_file)
    folders = [check(folder) for folder in model or found()]
    if not (security.is_loopback(host) or keys or public):
        raise DataError(f"--host: must be of this machine without --api-key or --public, got {host!r}")
    limits = Limits(
        characters=max_characters,
        queue=queue,
        timeout_seconds=timeout,
        at_once=per_client,
        requests_per_minute=rate or (PUBLIC_REQUESTS if public else None),
    )
    options = Options(
        folders=folders,
        engine=engine,
        host=host,
        port=port,
        keys=keys,
        origins=tuple(map(origin, cors or ())),
        splitting="sentences" if split_sentences else "lines",
        log_text=log_text,
        threads=threads or max(1, cores.count() // workers),
        workers=workers,
        glossary=glossary,
        beam_size=beam,
        limits=limits,
    )
    server.run(options)


def all_keys(given: list[str], file: Path | None) -> frozenset[str]:
    """The keys of the command line, of the environment and of a file.

    Raises: DataError if one of them is given and has none: whoever means to have keys does not serve everybody.
    """
    if any(not key.strip() for key in given):
        raise DataError("--api-key: is blank, got no key; expected one, or no such option")
    named = os.environ.get(KEY)
    if named is not None and not named.strip():
        raise DataError(f"{KEY}: is blank, got no key; expected one, or no such variable")
    keys = [checked(key, "--api-key") for key in given]
    keys += [checked(named, KEY)] if named is not None else []
    return frozenset([*keys, *(keys_in(file) if file is not None else [])])


def checked(key: str, where: str) -> str:
    """A key without the white space around it.

    Raises: DataError if there is more inside, which no header could carry for sure.
    """
    if len(key.split()) > 1:
        raise DataError(f"{where}: a key has white space in it; expected one key, without any")
    return key.strip()


def keys_in(file: Path) -> list[str]:
    """The keys in a file, one a line; blank lines, and those that begin with `#`, are none.

    Raises: DataError.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        keys = [
            checked(line, f"--api-key-file: line {number} of {str(file)!r}")
            for number, line in enumerate(lines, 1)
            if line.strip() and not line.lstrip().startswith("#")
        ]
    except FileNotFoundError:
        raise DataError(f"--api-key-file: no such file, got {str(file)!r}; expected a key a line") from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"--api-key-file: invalid UTF-8, got byte {error.start} of {str(file)!r}; expected a key a line"
        ) from None
    if not keys:
        raise DataError(f"--api-key-file: is empty, got no key in {str(file)!r}; expected a key a line")
    return keys


def origin(given: str) -> str:
    """An origin as browsers write it, or `*`.

    Raises: DataError.
    """
    if given == "*":
        return given
    parts = ORIGIN.fullmatch(given.lower().removesuffix("/"))
    if parts is None:
        raise DataError(f"--cors: is no origin, got {given!r}; expected * or one such as https://example.org:8000")
    scheme, host, port = parts.groups(default="")
    return f"{scheme}://{host}{'' if port == USUAL_PORTS.get(scheme) else port}"


def found() -> list[Path]:
    """Every packaged system of the project, the best on validation first: the first of a pair is its default.

    Raises: DataError if there is none.
    """
    every = (path.parent for path in MODELS.glob(f"[!.]*/{CONFIG}"))  # a hidden one is not finished
    folders = sorted(every, key=lambda folder: (-bleu(folder), folder))
    if not folders:
        raise DataError(f"{MODELS}/: has no packaged system; expected what `dvc repro package` writes, or --model")
    return folders


def bleu(folder: Path) -> float:
    """What a packaged system scored on validation; 0 if it does not say.

    Raises: DataError.
    """
    path = folder / CONFIG
    config = read_json(path)
    validation = config.get("validation", {}) if isinstance(config, dict) else None
    found = validation.get("validation_bleu", 0.0) if isinstance(validation, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise DataError(
            f"{path}: validation: must hold a number validation_bleu, got {str(config)[:100]}; "
            "expected what the stage `package` wrote"
        )
    return found


def check(folder: Path) -> Path:
    """A folder, which must be a package.

    Raises: DataError.
    """
    if not (folder / CONFIG).is_file():
        raise DataError(f"--model: no packaged system, got {str(folder)!r}; expected a folder with {CONFIG}")
    return folder
