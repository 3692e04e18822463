"""docs/from-text-to-server.md as a reader follows it: two files, a corpus, a build, a package, a server."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from itertools import product
from urllib.request import Request, urlopen

import pytest
from ruamel.yaml import YAML

from tests.test_documents import ROOT
from tests.toys import dvc_project
from tests.toys.dvc_project import SECONDS, Project, environment

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("dvc_leaves_nothing_behind")]
PAGE = (ROOT / "docs/from-text-to-server.md").read_text(encoding="utf-8")
NOUNS = (("chat", "cat"), ("chien", "dog"), ("serveur", "waiter"), ("voisin", "neighbor"), ("train", "train"))
VERBS = (("dort", "sleeps"), ("arrive", "arrives"), ("tombe", "falls"), ("attend", "waits"), ("chante", "sings"))
WHEN = (("ce soir", "tonight"), ("demain", "tomorrow"), ("le matin", "in the morning"), ("tous les jours", "every day"))
NMT = (sys.executable, "-m", "pipeline.commands.nmt")


def page_command(name: str) -> list[str]:
    """The page's command that begins so, without its `nmt`."""
    [line] = re.findall(rf"^nmt {name} .*$", PAGE, re.M)[:1]
    return shlex.split(line)[1:]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    """A copy with the reader's two files, after the page's `nmt new-corpus` and `dvc repro`, in toy sizes."""
    project = Project(dvc_project.copy(tmp_path_factory.mktemp("served") / "project"))
    lines = [[f"Le {a[0]} {b[0]} {c[0]}.", f"The {a[1]} {b[1]} {c[1]}."] for a, b, c in product(NOUNS, VERBS, WHEN)]
    for name, side in zip(("train.fr", "train.en"), zip(*lines, strict=True), strict=True):
        (project.root / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    yaml = YAML(typ="safe")
    params = yaml.load(project.root / "params.yaml")
    params["training"]["default"] |= params["training"]["toy"]  # of which new-corpus writes its own, some of them
    params["build"]["models"] = ["transformer_postnorm"]
    params["vocabularies"]["bpe"]["size"] = 90
    yaml.dump(params, project.root / "params.yaml")
    run(project, *NMT, *page_command("new-corpus"))
    params = yaml.load(project.root / "params.yaml")
    assert params["build"]["corpora"] == ["shop_fr_en"]
    params["training"]["shop_fr_en"]["updates"] = 6
    yaml.dump(params, project.root / "params.yaml")
    project.repro()
    return project


def run(project: Project, *words: str) -> str:
    """What a command prints in the copy, whose modules come first."""
    inside = environment() | {"PYTHONPATH": str(project.root)}
    done = subprocess.run(words, cwd=project.root, env=inside, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_server_gives_what_translate_gives(project):
    folder = "models/shop_fr_en-bpe-transformer_postnorm-tiny"
    [*translate, sentence] = ["translate", "--model", folder, "Le chat dort demain."]
    said = run(project, *NMT, *translate, sentence).strip()
    command = [*NMT, "serve", "--model", folder, "--port", "0", "--threads", "1"]
    inside = environment() | {"PYTHONPATH": str(project.root)}
    server = subprocess.Popen(
        command, cwd=project.root, env=inside, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        log = []
        for line in server.stdout:
            log.append(line)
            if found := re.search(r"(http://[\d.:]+): ready", line):
                break
        assert found, "".join(log)
        body = json.dumps({"q": sentence, "source": "fr", "target": "en"}).encode()
        request = Request(f"{found[1]}/translate", body, {"Content-Type": "application/json"})
        with urlopen(request, timeout=60) as answer:
            assert json.load(answer)["translatedText"] == said
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
    assert server.returncode == 0


def test_what_the_page_prints_has_the_form_of_what_is_printed(project):
    said = "corpora/shop_fr_en.yaml: 600 pairs; training.shop_fr_en in params.yaml: 120 updates; `make repro` builds it"
    assert said in PAGE
    shutil.copy(project.root / "train.fr", project.root / "again.fr")
    shutil.copy(project.root / "train.en", project.root / "again.en")
    printed = run(project, *NMT, "new-corpus", "again_fr_en", "--source", "again.fr", "--target", "again.en")
    form = re.sub(r"\d+", "N", said.replace("shop", "again"))
    assert form in re.sub(r"\d+", "N", printed)
