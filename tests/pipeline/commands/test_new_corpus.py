"""`nmt new-corpus`: what it writes, what it refuses and by which words, and that it is all or nothing."""

import contextlib
import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dvc.utils.serialize import modify_yaml

from pipeline import catalogue, files
from pipeline.commands import new_corpus
from pipeline.encoding import training_length
from pipeline.params import read_yaml

PAIRS = 500
GERMAN = "".join(f"Der Satz {number} ist kurz.\n" for number in range(PAIRS))
ENGLISH = "".join(f"Sentence {number} is short.\n" for number in range(PAIRS))
SIDES = ("--source", "mine.de", "--target", "mine.en")
LANGUAGES = ("--source-language", "de", "--target-language", "en")
PLACES = ("params.yaml", "corpora", "my")
SAID = "corpora/mine.yaml: 500 pairs; training.mine in params.yaml: 60 updates; `make repro` builds it\n"


@pytest.fixture
def folder(project_root, shipped_params, tmp_path, monkeypatch) -> Path:
    """A folder with the project's params.yaml and corpora, and two files of the user's, to which the test goes."""
    shutil.copyfile(project_root / "params.yaml", tmp_path / "params.yaml")
    shutil.copytree(project_root / "corpora", tmp_path / "corpora")
    (tmp_path / "my").mkdir()
    (tmp_path / "mine.de").write_text(GERMAN, encoding="utf-8")
    (tmp_path / "mine.en").write_text(ENGLISH, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    """Every file that a corpus is made of, hidden ones too."""
    found = {}
    for place in PLACES:
        for path in sorted([folder / place, *(folder / place).rglob("*")]):
            if path.is_file() or path.is_symlink():
                found[path.relative_to(folder).as_posix()] = path.read_bytes() if path.exists() else b""
    return found


@pytest.fixture
def refused(folder, fails):
    """Run the command with arguments that it refuses; the line, where nothing has changed."""

    def refused_here(*arguments: str) -> str:
        before, listed = contents(folder), set(os.listdir(folder))
        said = fails("new-corpus", *arguments)
        assert contents(folder) == before
        assert set(os.listdir(folder)) - listed <= {"work"}
        return said

    return refused_here


def corpus(name: str = "mine") -> dict:
    return read_yaml(Path("corpora", f"{name}.yaml"))


def test_two_files_become_a_corpus(folder, run):
    before = read_yaml(Path("params.yaml"))
    assert run("new-corpus", "mine", *SIDES) == (0, SAID, "")
    parts = {"train": {"kind": "local", "source": "my/mine.train.de", "target": "my/mine.train.en"}}
    split = {"carve_by": "source", "validation_share": 0.1, "test_share": 0.1}
    languages = {"source_language": "de", "target_language": "en"}
    rest = {"clean": {}, "split": split, "decode": {}}
    assert corpus() == {"licence": "unknown", **languages, "parts": parts, **rest}
    assert (folder / "my/mine.train.de").read_text(encoding="utf-8") == GERMAN
    assert (folder / "my/mine.train.en").read_text(encoding="utf-8") == ENGLISH
    after = read_yaml(Path("params.yaml"))
    assert after["training"].pop("mine") == training_length.suggest(PAIRS, PAIRS * 4)
    assert after["build"]["corpora"].pop() == "mine"
    assert after == before
    catalogue.check()


def test_only_lines_come_and_dvc_writes_them_no_other_way(folder, run):
    before = Path("params.yaml").read_text(encoding="utf-8").splitlines()
    assert run("new-corpus", "mine", *SIDES).status == 0
    after = {name: Path(name).read_text(encoding="utf-8") for name in ("params.yaml", "corpora/mine.yaml")}
    lines = iter(after["params.yaml"].splitlines())
    assert all(line in lines for line in before)
    for name, text in after.items():
        with modify_yaml(name):
            pass
        assert Path(name).read_text(encoding="utf-8") == text
        assert not [line for line in text.splitlines() if "mine" in line and line.rstrip().endswith(":{")]


def test_comments_of_params_stay(folder, run):
    path = Path("params.yaml")
    text = path.read_text(encoding="utf-8")
    text = "# ours\n" + text.replace("  vocabularies:\n", "  # first\n  vocabularies:\n", 1)
    text = text.replace("report:", "# last\nreport:")
    path.write_text(text, encoding="utf-8")
    assert run("new-corpus", "mine", *SIDES, "--only").status == 0
    after = path.read_text(encoding="utf-8")
    assert after.startswith("# ours\n")
    assert "# last\nreport:" in after
    assert read_yaml(path)["build"]["corpora"] == ["mine"]


def test_linked_params_stay_linked(folder, run):
    Path("params.yaml").rename("shared.yaml")
    Path("params.yaml").symlink_to("shared.yaml")
    assert run("new-corpus", "mine", *SIDES).status == 0
    assert Path("params.yaml").is_symlink()
    assert read_yaml(Path("shared.yaml"))["build"]["corpora"][-1] == "mine"


def test_only_builds_no_other(folder, run):
    assert run("new-corpus", "mine", *SIDES, "--only").status == 0
    assert read_yaml(Path("params.yaml"))["build"]["corpora"] == ["mine"]


def test_two_corpora_one_after_the_other(folder, run):
    assert run("new-corpus", "mine", *SIDES).status == 0
    assert run("new-corpus", "mine_2", *SIDES, "--licence", "CC0: all").status == 0
    assert read_yaml(Path("params.yaml"))["build"]["corpora"][-2:] == ["mine", "mine_2"]
    assert corpus("mine_2")["licence"] == "CC0: all"


@pytest.mark.parametrize("name", ["123", "1_000", "0x1f", "null", "true", "_", "A", "x" * 100])
def test_odd_names_that_are_good(folder, run, name):
    assert run("new-corpus", name, *SIDES).status == 0
    params = read_yaml(Path("params.yaml"))
    assert params["build"]["corpora"][-1] == name
    assert name in params["training"]
    catalogue.check()


@pytest.mark.parametrize("name", ["", "a-b", "a b", "a.b", "../a", "a/b", "ä", "a\n", "default"])
def test_bad_names(refused, name):
    assert refused(name, *SIDES) == f"NAME: must be letters, digits and underscores, and not 'default', got {name!r}"


def test_a_name_taken(folder, refused):
    said = "corpora/wmt14_en_de.yaml: there is a corpus of this name; expected a new one"
    assert refused("wmt14_en_de", *SIDES) == said
    (folder / "corpora/loose.yaml").symlink_to("nowhere.yaml")
    said = "corpora/loose.yaml: no such file; expected in the folder the command runs in"
    assert refused("loose", *SIDES) == said


def test_a_name_whose_training_is_still_there(folder, refused):
    with modify_yaml("params.yaml") as params:
        params["training"]["mine"] = {"updates": 9}
    said = "params.yaml: training.mine: is that of an earlier corpus; remove it, or choose another name"
    assert refused("mine", *SIDES) == said


def test_a_name_whose_copy_is_still_there(folder, refused):
    (folder / "my/mine.train.en").symlink_to("nowhere")
    said = "my/mine.train.en: already there; expected a new name, or this path in place of mine.en"
    assert refused("mine", *SIDES) == said


def test_another_folder(tmp_path, monkeypatch, fails):
    monkeypatch.chdir(tmp_path)
    said = f"{tmp_path}: has no params.yaml; expected the project's folder, which nmt runs in"
    assert fails("new-corpus", "mine", *SIDES) == said
    assert list(tmp_path.iterdir()) == []


def test_params_that_were_wrong_before(folder, refused):
    text = Path("params.yaml").read_text(encoding="utf-8")
    Path("params.yaml").write_text(text.replace("beam_size: 5", "beam_size: 0"), encoding="utf-8")
    assert refused("mine", *SIDES) == "params.yaml: decode.beam_size: should be greater than 0, got 0"


def test_a_corpus_that_was_wrong_before(folder, refused):
    path = Path("corpora/wmt14_en_de.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("beam_size: 4", "beam: 4"), encoding="utf-8")
    said = refused("mine", *SIDES)
    assert said == "corpora/wmt14_en_de.yaml: decode.beam: unknown key; nearest is 'beam_size'"


CHOICE = "nmt new-corpus: expected one of --source and --target, --table, --hub, got "
NO_LANGUAGE = "is missing, and no name of a file ends in a language; expected one, such as de"
WRONG = {
    "nothing": ((), f"{CHOICE}none"),
    "files and a table": ((*SIDES, "--table", "mine.de"), f"{CHOICE}--source and --target and --table"),
    "a table and the hub": (("--table", "mine.de", "--hub", "a/b"), f"{CHOICE}--table and --hub"),
    "no target": (("--source", "mine.de"), "--target: is missing; expected both --source and --target"),
    "no source": (("--target", "mine.en"), "--source: is missing; expected both --source and --target"),
    "no test target": (
        (*SIDES, "--test-source", "mine.de"),
        "--test-target: is missing; expected both --test-source and --test-target",
    ),
    "no test source": (
        (*SIDES, "--test-target", "mine.en"),
        "--test-source: is missing; expected both --test-source and --test-target",
    ),
    "no such file": (("--source", "no.de", "--target", "mine.en"), "no.de: no such file; expected one of sentences"),
    "no such test file": (
        (*SIDES, "--test-source", "no.de", "--test-target", "no.en"),
        "no.de: no such file; expected one of sentences",
    ),
    "a folder": (("--source", "my", "--target", "mine.en", *LANGUAGES), "my: no such file; expected one of sentences"),
    "no language": (("--source", "a.txt", "--target", "mine.en"), f"--source-language: {NO_LANGUAGE}"),
    "no language but .gz": (("--source", "mine.de", "--target", "en.gz"), f"--target-language: {NO_LANGUAGE}"),
    "no language of a table": (("--table", "mine.de"), f"--source-language: {NO_LANGUAGE}"),
    "a bad language": (
        (*SIDES, "--source-language", "deutsch"),
        "corpora/mine.yaml: source_language: String should match pattern '^[A-Za-z]{2,3}([_-][A-Za-z0-9]+)*$', "
        "got 'deutsch'",
    ),
    "a column of files": (
        (*SIDES, "--source-column", "1"),
        "--source-column: is for --table and --hub, got '1'; expected none beside --source",
    ),
    "a column that is no number": (
        ("--table", "mine.de", *LANGUAGES, "--target-column", "en"),
        "--target-column: must be the number of a column of the table, got 'en'; expected 1 or more",
    ),
    "a column with a sign": (
        ("--table", "mine.de", *LANGUAGES, "--target-column=-1"),
        "--target-column: must be the number of a column of the table, got '-1'; expected 1 or more",
    ),
    "column zero": (
        ("--table", "mine.de", *LANGUAGES, "--source-column", "0"),
        "corpora/mine.yaml: parts.train.source_column: should be greater than or equal to 1, got 0",
    ),
    "a table with one column": (
        ("--table", "mine.de", *LANGUAGES),
        "mine.de line 1: 1 column, expected at least 2",
    ),
    "an archive": (
        ("--source", "mine.zip", "--target", "mine.en", "--source-language", "de"),
        "corpora/mine.yaml: parts.train: must be plain or .gz files, got 'mine.zip'; unpack mine.zip first",
    ),
    "another archive": (
        ("--source", "mine.xz", "--target", "mine.en", "--source-language", "de"),
        "corpora/mine.yaml: parts.train: must be plain or .gz files, got 'mine.xz'; unpack mine.xz first",
    ),
    "no licence": (
        (*SIDES, "--licence", ""),
        "corpora/mine.yaml: licence: String should have at least 1 character, got ''",
    ),
    "an id that is none": (
        ("--hub", "../a", *LANGUAGES),
        "corpora/mine.yaml: parts.train.dataset: must be an id of the hub such as wmt/wmt14, each part of 96 "
        "characters at most, got '../a'",
    ),
    "one column of the hub": (
        ("--hub", "a/b", *LANGUAGES, "--source-column", "de"),
        "corpora/mine.yaml: parts.train: must have either source_column and target_column or translation_field, "
        "got source_column",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_refused(folder, refused, kind):
    for ending in ("zip", "xz"):
        (folder / f"mine.{ending}").write_bytes(b"PK")
    arguments, said = WRONG[kind]
    assert refused("mine", *arguments) == said


@pytest.mark.parametrize(("side", "other"), [("de", "en"), ("en", "de")])
def test_files_that_are_not_parallel(folder, refused, side, other):
    (folder / f"mine.{side}").write_text("one\ntwo\n")
    counts = {side: 2, other: PAIRS}
    said = f"mine.de has {counts['de']} lines, mine.en {counts['en']}: the two files must be parallel"
    assert refused("mine", *SIDES) == said


def test_test_files_that_are_not_parallel(folder, refused):
    (folder / "test.de").write_text("eins\n")
    (folder / "test.en").write_text("one\ntwo\n")
    said = refused("mine", *SIDES, "--test-source", "test.de", "--test-target", "test.en")
    assert said == "test.de has 1 lines, test.en 2: the two files must be parallel"


@pytest.mark.parametrize("side", ["de", "en"])
@pytest.mark.parametrize("content", ["", "\n" * PAIRS, " \n" * PAIRS])
def test_files_without_text(folder, refused, side, content):
    (folder / f"mine.{side}").write_text(content)
    said = refused("mine", *SIDES)
    if content:
        assert said == f"mine.{side}: holds no text; expected sentences"
    else:
        assert said.endswith(": the two files must be parallel")


def test_two_empty_files(folder, refused):
    (folder / "mine.de").write_text("")
    (folder / "mine.en").write_text("")
    assert refused("mine", *SIDES) == "mine.de: holds no text; expected sentences"


def test_bytes_that_are_no_utf8_are_counted_in_training_alone(folder, run, refused):
    """The stage `clean` drops and counts them; a test part may hold none."""
    (folder / "mine.de").write_bytes(GERMAN.replace("kurz", "größer").encode("latin-1"))
    for side, text in (("de", "grün\n"), ("en", "green\n")):
        (folder / f"test.{side}").write_bytes(text.encode("latin-1"))
    said = refused("mine", *SIDES, "--test-source", "test.de", "--test-target", "test.en")
    assert said == "test.de line 1: invalid UTF-8, got byte 0xfc at column 3; expected text in UTF-8"
    assert run("new-corpus", "mine", *SIDES).out.startswith("corpora/mine.yaml: 500 pairs; ")


def test_a_test_part_is_brought(folder, run):
    (folder / "test.de").write_text("Eins.\n")
    (folder / "test.en").write_text("One.\n")
    assert run("new-corpus", "mine", *SIDES, "--test-source", "test.de", "--test-target", "test.en").status == 0
    found = corpus()
    assert found["parts"]["test"] == {"kind": "local", "source": "my/mine.test.de", "target": "my/mine.test.en"}
    assert found["split"] == {"carve_by": "source", "validation_share": 0.1, "test_share": 0.0}
    assert (folder / "my/mine.test.en").read_text() == "One.\n"


@pytest.mark.parametrize("ending", [".gz", ".GZ"])
def test_packed_files(folder, run, ending):
    for side, text in (("de", GERMAN), ("en", ENGLISH)):
        (folder / f"mine.{side}{ending}").write_bytes(gzip.compress(text.encode()))
    arguments = ("--source", f"mine.de{ending}", "--target", f"mine.en{ending}", *LANGUAGES)
    assert run("new-corpus", "mine", *arguments).out.startswith("corpora/mine.yaml: 500 pairs; ")
    assert corpus()["parts"]["train"]["source"] == "my/mine.train.de.gz"
    assert gzip.decompress((folder / "my/mine.train.de.gz").read_bytes()).decode() == GERMAN


def test_a_packed_file_that_is_cut(folder, refused):
    (folder / "mine.de.gz").write_bytes(gzip.compress(GERMAN.encode())[:-20])
    said = refused("mine", "--source", "mine.de.gz", "--target", "mine.en")
    assert said.startswith("mine.de.gz: ")


def test_lines_about_talks_stay_out(folder, run):
    """The tags of IWSLT's training files, which are known by their name."""
    for side, text in (("de", GERMAN), ("en", ENGLISH)):
        tagged = f"<url>http://x.org</url>\n<title>x</title>\n{text}"
        (folder / f"train.tags.de-en.{side}").write_text(tagged, encoding="utf-8")
    arguments = ("--source", "train.tags.de-en.de", "--target", "train.tags.de-en.en")
    assert run("new-corpus", "mine", *arguments).out.startswith("corpora/mine.yaml: 500 pairs; ")
    assert corpus()["parts"]["train"]["source"] == "my/train.tags.mine.train.de"


def test_files_that_stand_in_my_stay_where_they_are(folder, run):
    (folder / "my/deep").mkdir()
    shutil.move("mine.de", "my/deep/mine.de")
    shutil.move("mine.en", "my/mine.en")
    before = set((folder / "my").rglob("*"))
    arguments = ("--source", str(folder / "my/deep/mine.de"), "--target", "my/../my/mine.en")
    assert run("new-corpus", "mine", *arguments).status == 0
    assert corpus()["parts"]["train"] == {"kind": "local", "source": "my/deep/mine.de", "target": "my/mine.en"}
    assert set((folder / "my").rglob("*")) == before


@pytest.mark.parametrize("ending", ["de.tok", "tok.de", "de.csv", "de.bpe.GZ", "raw.de.TXT", "de.src"])
def test_the_ending_of_a_tool_is_no_language(ending):
    assert new_corpus.language("--source-language", None, Path(f"train.{ending}")) == "de"


def test_a_corpus_of_one_language(folder, run):
    assert run("new-corpus", "mine", *SIDES, "--source-language", "en").status == 0
    assert corpus()["parts"]["train"] == {
        "kind": "local",
        "source": "my/mine.train.source",
        "target": "my/mine.train.target",
    }


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ((), {"source_column": 1, "target_column": 2}),
        (("--source-column", "3", "--target-column", "2"), {"source_column": 3, "target_column": 2}),
    ],
)
def test_a_table(folder, run, columns, found):
    rows = zip(GERMAN.splitlines(), ENGLISH.splitlines(), strict=True)
    (folder / "both.txt").write_text("".join(f"{one}\t{two}\tx\n" for one, two in rows), encoding="utf-8")
    said = run("new-corpus", "mine", "--table", "both.txt", *LANGUAGES, *columns)
    assert said == (0, SAID, "")
    assert corpus()["parts"]["train"] == {"kind": "local", "table": "my/mine.train.tsv", **found}


def test_a_table_in_which_one_row_lacks_a_column(folder, refused):
    (folder / "both.tsv").write_text("eins\tone\nzwei\n")
    said = refused("mine", "--table", "both.tsv", *LANGUAGES)
    assert said == "both.tsv line 2: 1 column, expected at least 2"


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ((), {"translation_field": "translation"}),
        (("--source-column", "de", "--target-column", "en"), {"source_column": "de", "target_column": "en"}),
    ],
)
def test_a_data_set_of_the_hub(folder, run, columns, found):
    """Nothing is fetched, nothing counted: what is in `default` of training holds."""
    said = run("new-corpus", "mine", "--hub", "a/b", *LANGUAGES, *columns, "--only")
    updates = f"training.default in params.yaml: {read_yaml(Path('params.yaml'))['training']['default']['updates']:,}"
    assert said == (0, f"corpora/mine.yaml: the data set a/b; {updates} updates; `make repro` builds it\n", "")
    where = {"kind": "hub", "dataset": "a/b", "revision": "main", "split": "train"}
    assert corpus()["parts"] == {"train": where | found}
    assert read_yaml(Path("params.yaml"))["training"]["mine"] == {}
    assert list((folder / "my").iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, SystemExit])
@pytest.mark.parametrize("where", ["the copies", "the corpus", "the check"])
def test_a_run_that_fails_leaves_all_as_it_was(folder, run, monkeypatch, error, where):
    calls = []

    def broken(*_: object, **__: object) -> None:
        calls.append(where)
        if where != "the check" or len(calls) > 1:
            raise error("broken")

    place = {
        "the copies": (new_corpus.shutil, "copyfileobj"),
        "the corpus": (new_corpus, "corpus_text"),
        "the check": (new_corpus.catalogue, "check"),
    }
    before = contents(folder)
    monkeypatch.setattr(*place[where], broken)
    with contextlib.suppress(error):
        assert run("new-corpus", "mine", *SIDES).status
    assert calls
    assert contents(folder) == before


def started(folder: Path, project_root: Path) -> subprocess.Popen[str]:
    """The command as a process of its own, whose check after writing takes a while."""
    code = """
import sys, time
from pipeline import catalogue
from pipeline.commands import nmt
check, calls = catalogue.check, []
def slow():
    calls.append(1)
    check()
    if len(calls) > 1:
        open("written", "w").close()
        time.sleep(60)
catalogue.check = slow
sys.argv[0] = "nmt"
nmt.app()
"""
    command = [sys.executable, "-c", code, "new-corpus", "mine", *SIDES]
    pipe = subprocess.PIPE
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_killed_run_leaves_all_as_it_was(folder, project_root, by):
    """Even where all has been written already."""
    before = contents(folder)
    process = started(folder, project_root)
    until = time.monotonic() + 120
    while not (folder / "written").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    assert contents(folder) != before
    process.send_signal(by)
    process.communicate(timeout=60)
    assert process.returncode
    assert contents(folder) == before


def test_a_run_killed_outright_leaves_files_that_are_whole(folder, project_root, run):
    process = started(folder, project_root)
    while not (folder / "written").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=60)
    catalogue.check()
    assert (folder / "my/mine.train.de").read_text(encoding="utf-8") == GERMAN
    assert files.sha256(folder / "my/mine.train.en") == files.sha256(folder / "mine.en")


def test_it_needs_nothing_of_an_earlier_run(folder, run):
    """A second run after a failed one goes well."""
    (folder / "mine.en").write_text("one\n")
    assert run("new-corpus", "mine", *SIDES).status == 1
    (folder / "mine.en").write_text(ENGLISH)
    assert run("new-corpus", "mine", *SIDES).status == 0
