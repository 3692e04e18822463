"""`nmt serve` with packaged systems, as a user starts it; and what it refuses to start."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from pathlib import Path

import libretranslatepy
import pytest
import requests

from pipeline.commands import serve
from pipeline.decoding.translator import Translator
from pipeline.serving import engines
from tests.toys import packages, servers

LINES = ["le chat noir", "dort", "le chat noir dort", "une pomme", "la maison blanche", "ξένος"]
NMT = [sys.executable, "-m", "pipeline.commands.nmt", "serve", "--port", "0"]
MODELS = ("transformer_prenorm", "rnnsearch")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> list[Path]:
    """Two packaged systems in a folder of their own."""
    root = tmp_path_factory.mktemp("project")
    with chdir(root):
        return [packages.build(root, model) for model in MODELS]


@pytest.fixture(scope="module", params=["torch", "ctranslate2", "ctranslate2-int8"])
def served(request, folders, tmp_path_factory):
    """A server of both with an engine, and the engine offline."""
    log = tmp_path_factory.mktemp("log") / "log"
    names = [word for folder in folders for word in ("--model", folder)]
    with servers.running([*NMT, "--engine", request.param, "--threads", "1", *names], log) as server:
        yield server, engines.load(folders[0], request.param, 1), engines.load(folders[1], "torch", 1)


def test_every_answer_is_the_offline_one_however_many_ask(served):
    """Single lines, lists and documents of 16 clients at once."""
    server, *offline = served
    expected = {engine.system: [found[0] for found in engine.translate(LINES, 1)] for engine in offline}

    def ask(number):
        session, wrong = requests.Session(), []
        for turn in range(2):
            system, index = offline[(number + turn) % 2].system, number % len(LINES)
            q = LINES if turn else LINES[index]
            fields = {"source": "fr", "target": "en", "system": system, "q": q}
            said = session.post(f"{server.address}/translate", json=fields, timeout=100).json()
            answers = expected[system] if turn else [expected[system][index]]
            texts, confidences = [answer.text for answer in answers], [answer.confidence for answer in answers]
            found = said["translatedText"], said["confidence"]
            wrong += [] if found == ((texts, confidences) if turn else (texts[0], confidences[0])) else [(system, said)]
        return wrong

    with ThreadPoolExecutor(12) as pool:
        assert [one for wrong in pool.map(ask, range(12)) for one in wrong] == []


def test_what_is_served_says_what_it_is(served):
    server, first, second = served
    found = server.get("/systems").json()
    assert [(one["system"], one["model"]) for one in found] == list(
        zip((first.system, second.system), MODELS, strict=True)
    )
    assert found[0]["card"].startswith("---\n")
    assert found[0]["scores"] == {"test": {"bleu": 41.26}}
    assert found[1]["engine"] == "torch"  # CTranslate2 has no such model
    assert server.get("/languages").json()[1] == {"code": "fr", "name": "French", "targets": ["en"]}


def test_attention_and_the_client_of_libretranslate(served):
    server, first, _ = served
    found = server.post("/attention", {"q": LINES[0]}).json()
    assert found["text"] == first.translate([LINES[0]], 1)[0][0].text
    client = libretranslatepy.LibreTranslateAPI(server.address)
    assert client.translate(LINES[0], "fr", "en") == found["text"]
    assert client.translate(LINES[0], "auto", "en") == found["text"]


def test_alternatives_begin_with_the_same_best(served):
    server, first, _ = served
    fields = {"q": LINES[0], "source": "fr", "target": "en", "alternatives": 2}
    found = server.post("/translate", fields).json()
    best, *others = dict.fromkeys(answer.text for answer in first.translate([LINES[0]], 3)[0])
    assert (found["translatedText"], found["alternatives"]) == (best, others)


def test_without_splitting_it_gives_the_lines_of_nmt_translate(folders, tmp_path):
    """Also of lines that hold two sentences, asked for by LibreTranslate's client, one by one and as a text."""
    lines = [*LINES, "Le chat. Dort !", "Une pomme ? Le chat."]
    expected = Translator.load(folders[0]).best(lines)
    with servers.running([*NMT, "--model", folders[0], "--no-split-sentences"], tmp_path / "log") as server:
        client = libretranslatepy.LibreTranslateAPI(server.address)
        assert [client.translate(line, "fr", "en") for line in lines] == expected
        assert client.translate("\n".join(lines), "fr", "en") == "\n".join(expected)


def test_it_needs_no_project(folders, tmp_path):
    """No params.yaml, no DVC, no MLflow: from anywhere, and without importing torch in the process that answers."""
    with servers.running([*NMT, "--model", folders[0]], tmp_path / "log", cwd=tmp_path) as server:
        if Path("/proc").exists():
            assert "libtorch" not in Path(f"/proc/{server.process.pid}/maps").read_text()
        assert server.post("/translate", {"q": "le chat", "source": "fr", "target": "en"}).status_code == 200


def refusal(tmp_path, *arguments, **environment):
    """The line that `nmt serve` ends with."""
    command = [*NMT, *map(str, arguments)]
    said = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=os.environ | environment
    )
    assert said.returncode == 1, said.stderr
    assert "Traceback" not in said.stderr
    return said.stderr.splitlines()[-1].removeprefix("error: ")


def test_a_broken_package(folders, tmp_path):
    broken = tmp_path / "broken"
    subprocess.run(["cp", "-r", folders[0], broken], check=True)
    (broken / "model.safetensors").write_bytes(b"")
    assert refusal(tmp_path, "--model", broken).startswith(f"{broken}/model.safetensors: must have ")


def test_without_the_packages(folders, tmp_path):
    """One line, not a traceback."""
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError(\"No module named 'fastapi'\", name='fastapi')")
    said = refusal(tmp_path, "--model", folders[0], PYTHONPATH=str(tmp_path))
    assert said == "nmt serve: needs the package fastapi, which is not installed; expected nmt-pipeline[serve]"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder without a project, to which the test goes; no server is started from there, which would run for ever."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(serve.KEY, raising=False)
    monkeypatch.setattr(serve.server, "run", None)
    return tmp_path


def test_refusals(here, fails, folders):
    model = ("--model", str(folders[0]))
    assert fails("serve") == "models/: has no packaged system; expected what `dvc repro package` writes, or --model"
    assert fails("serve", "--model", "x") == "--model: no packaged system, got 'x'; expected a folder with config.json"
    assert fails("serve", *model, "--engine", "x") == (
        "--engine: unknown, got 'x'; expected torch, ctranslate2, ctranslate2-int8"
    )
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        said = fails("serve", *model, "--host", host)
        assert said == f"--host: must be of this machine without --api-key or --public, got {host!r}"
    (here / "keys").write_text("\n")
    assert fails("serve", *model, "--api-key-file", "keys") == (
        "--api-key-file: is empty, got no key in 'keys'; expected a key a line"
    )
    assert fails("serve", *model, "--api-key-file", "none") == (
        "--api-key-file: no such file, got 'none'; expected a key a line"
    )
    (here / "keys").write_bytes(b"one\xff\n")
    assert fails("serve", *model, "--api-key-file", "keys") == (
        "--api-key-file: invalid UTF-8, got byte 3 of 'keys'; expected a key a line"
    )
    (here / "keys").write_text("# the shop's\none\n\ncorrect horse\n")
    assert fails("serve", *model, "--api-key-file", "keys") == (
        "--api-key-file: line 4 of 'keys': a key has white space in it; expected one key, without any"
    )
    assert fails("serve", *model, "--api-key", "a b").startswith("--api-key: a key has white space in it; ")
    assert fails("serve", *model, "--timeout", "inf") == (
        "--timeout: must be a finite number, got inf; expected seconds, such as 60"
    )


@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_key_is_not_no_key(here, fails, folders, monkeypatch, blank):
    """`--api-key "$KEY"` without KEY must not let everybody in."""
    model = ("--model", str(folders[0]))
    said = fails("serve", *model, "--api-key", "one", "--api-key", blank)
    assert said == "--api-key: is blank, got no key; expected one, or no such option"
    monkeypatch.setenv(serve.KEY, blank)
    said = fails("serve", *model)
    assert said == "NMT_API_KEY: is blank, got no key; expected one, or no such variable"
    monkeypatch.setenv(serve.KEY, "correct horse")
    assert fails("serve", *model).startswith("NMT_API_KEY: a key has white space in it; ")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("*", "*"),
        ("https://a.example/", "https://a.example"),
        ("HTTPS://A.example:443", "https://a.example"),
        ("http://a.example:443", "http://a.example:443"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("moz-extension://0f-1a", "moz-extension://0f-1a"),
    ],
)
def test_an_origin_is_written_as_browsers_do(given, expected):
    assert serve.origin(given) == expected


@pytest.mark.parametrize(
    "given", ["a.example", "", "https://", "https://a.example/b", "https://a b", "null", "http://["]
)
def test_what_is_no_origin(here, fails, folders, given):
    said = fails("serve", "--model", str(folders[0]), "--cors", given)
    assert said == f"--cors: is no origin, got {given!r}; expected * or one such as https://example.org:8000"


def options(monkeypatch, run, *arguments):
    """What a command line has a server do, which is not started."""
    from pipeline.serving import server

    found = []
    monkeypatch.setattr(server, "run", found.append)
    assert run("serve", *arguments).status == 0
    return found[0]


def test_what_the_command_line_chooses(here, run, folders, monkeypatch):
    model = ("--model", str(folders[0]))
    plain = options(monkeypatch, run, *model)
    assert (plain.host, plain.port, plain.engine, plain.keys, plain.limits.requests_per_minute) == (
        *("127.0.0.1", 5050, "torch", frozenset(), None),
    )
    (here / "keys").write_text("# keys of the shop\nthree\n\n four \n")
    monkeypatch.setenv(serve.KEY, " two\n")
    keyed = options(monkeypatch, run, *model, "--host", "0.0.0.0", "--api-key", " one", "--api-key-file", "keys")
    assert keyed.keys == {"one", "two", "three", "four"}
    monkeypatch.delenv(serve.KEY)
    public = options(monkeypatch, run, *model, "--host", "0.0.0.0", "--public")
    assert public.limits.requests_per_minute == serve.PUBLIC_REQUESTS
    given = options(
        *(monkeypatch, run, *model, "--max-characters", "7", "--queue", "8", "--timeout", "9", "--rate", "10"),
        *("--per-client", "11", "--cors", "https://a.example", "--workers", "2", "--threads", "3", "--log-text"),
        *("--beam", "4"),
    )
    limits = given.limits
    assert (limits.characters, limits.queue, limits.timeout_seconds, limits.requests_per_minute) == (7, 8, 9.0, 10)
    assert (limits.at_once, given.origins, given.workers, given.threads) == (11, ("https://a.example",), 2, 3)
    assert (given.log_text, given.beam_size, plain.beam_size) == (True, 4, None)


def test_the_best_on_validation_is_the_default(here, run, monkeypatch):
    for name, bleu in (("a", 10.0), ("b", 30.0), ("c", 20.0)):
        (here / "models" / name).mkdir(parents=True)
        config = {"validation": {"validation_bleu": bleu}}
        (here / "models" / name / "config.json").write_text(json.dumps(config))
    (here / "models/.b.0123.partial").mkdir()  # of a stage `package` under way, or killed
    (here / "models/.b.0123.partial/config.json").write_text("{}")
    found = options(monkeypatch, run).folders
    assert [folder.name for folder in found] == ["b", "c", "a"]


@pytest.mark.parametrize("config", [[], {"validation": None}, {"validation": {"validation_bleu": "good"}}])
def test_a_config_without_a_number_for_validation(here, fails, config):
    (here / "models" / "x").mkdir(parents=True)
    (here / "models" / "x" / "config.json").write_text(json.dumps(config))
    assert fails("serve") == (
        f"models/x/config.json: validation: must hold a number validation_bleu, got {config}; "
        "expected what the stage `package` wrote"
    )
