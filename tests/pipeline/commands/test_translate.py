import contextlib
import io
import os
import pty
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pipeline.commands import translate
from pipeline.common.files import DataError
from pipeline.common.system import System
from pipeline.decoding.settings import Decoding
from pipeline.decoding.translator import Translator
from stages.decode import main as decode
from tests.toys import packages, systems
from tests.toys.systems import SYSTEM

LINES = systems.PARTS["test"]
TEXT = "".join(line + "\n" for line in LINES)
COMMAND = [sys.executable, "-m", "pipeline.commands.nmt", "translate", "--system", SYSTEM]


@pytest.fixture
def lines(run):
    """What `nmt translate` writes, line by line."""

    def lines_of(*arguments, given=""):
        said = run("translate", "--system", SYSTEM, *arguments, given=given)
        assert said.status == 0, said.err
        return said.out.removesuffix("\n").split("\n")

    return lines_of


def test_a_sentence_a_file_and_standard_input_are_what_decode_writes(project, lines):
    """One line out for each line in, in order, the empty ones too; ends of lines may be those of DOS."""
    decode(SYSTEM)
    expected = (project / "data/decode" / SYSTEM / "test.txt").read_text().split("\n")[:-1]
    (project / "test.txt").write_text(TEXT)
    assert lines("--file", "test.txt") == lines(given=TEXT) == lines(given=TEXT.replace("\n", "\r\n")) == expected
    assert lines("--", LINES[0]) == lines(given=LINES[0]) == expected[:1]
    assert lines(f"{LINES[0]}\n{LINES[2]}") == [expected[0], expected[2]]
    assert [expected[number] for number in (1, 3, 6)] == ["", "   ", "ξένος"]


def test_nothing_in_nothing_out(run, project):
    assert run("translate", "--system", SYSTEM) == (0, "", "")


def test_however_a_sentence_is_spelt(run, project):
    """Every line gives the answer of the plain one, and each gives one: no character but a line feed ends a line."""
    spellings = [
        "une\u202fpomme rouge",
        "\ufeffune pomme rouge",
        "une\x0bpomme\u2028rouge",
        "une p\u00adomme rouge",
    ]
    plain = run("translate", "--system", SYSTEM, "une pomme rouge").out
    given = "".join(line + "\n" for line in [*spellings, "\u200b", "\ufeff \u00ad\u2028"])
    assert run("translate", "--system", SYSTEM, given=given) == (0, plain * 4 + "\u200b\n\ufeff \u00ad\u2028\n", "")


def test_n_best_are_numbered_scored_and_ordered(lines, project):
    plain = lines(given=TEXT)
    rows = [row.split("\t") for row in lines("--n-best", "3", given=TEXT)]
    for number, line in enumerate(LINES, 1):
        own = [row for row in rows if row[0] == str(number)]
        scores = [float(score) for _, score, _ in own]
        assert scores == sorted(scores, reverse=True)
        assert own[0][2] == plain[number - 1]
        assert len(own) == (3 if line.strip() and line != "ξένος" else 1)
    assert [row for row in rows if row[0] in "27"] == [["2", "0.0000", ""], ["7", "0.0000", "ξένος"]]


def test_the_command_line_says_how_to_search(lines, project):
    params = project / "params.yaml"
    usual = params.read_text()
    params.write_text(usual.replace("beam_size: 3, length_penalty: 0.6", "beam_size: 2, length_penalty: 0.0"))
    expected = lines("--n-best", "1", given=TEXT)
    params.write_text(usual)
    assert lines("--n-best", "1", given=TEXT) != expected
    assert lines("--n-best", "1", "--beam", "2", "--length-penalty", "0", given=TEXT) == expected


def test_characters_without_a_piece_are_written_by_equals_or_named(run, project):
    plain = run("translate", "--system", SYSTEM, "le chat noir").out
    said = run("translate", "--system", SYSTEM, given="lé ćhàt\u0323 ＮＯＩＲ\nξι ☃\nle chat <b>noir</b>\n☃\n")
    assert said.out.splitlines()[:2] == [plain.rstrip("\n"), "ξι ☃"]
    assert said.err == (
        "warning: no piece of the vocabulary spells ☃ on 2 lines, ξ on 1 line, ι on 1 line; "
        "such characters come back as they are\n"
    )


@pytest.mark.parametrize(
    ("line", "strange"),
    [("LE CHAT DORT.", True), ("le chat dort.", False), ("LE CHAT", False), ("1 2 3", False), ("DER IST NEU", False)],
)
def test_capitals_are_strange_where_they_take_many_more_pieces(line, strange):
    known = {"le", "chat", "dort.", "1", "2", "3", *["der", "ist", "neu"], *["DER", "IST", "NEU"]}
    lines = lambda texts: [[4] * sum(1 if word in known else len(word) for word in text.split()) for text in texts]  # noqa: E731
    translator = SimpleNamespace(vocabulary=SimpleNamespace(encode_source=lines))
    assert translate.are_strange_capitals(line, translator) is strange


def test_lines_before_a_bad_one_are_translated(run, project, monkeypatch):
    monkeypatch.setattr("pipeline.commands.translate.TOGETHER", 1)
    said = run("translate", "--system", SYSTEM, given=b"le chat\nle \xff chat\n")
    assert (said.status, said.out.count("\n")) == (1, 1)
    assert said.err == (
        "error: standard input line 2: invalid UTF-8, got byte 0xff at column 4, perhaps of ISO-8859-1 or "
        "Windows-1252; expected UTF-8, as `iconv -f WINDOWS-1252 -t UTF-8` writes it\n"
    )


def test_a_packaged_system_translates_anywhere_and_while_its_run_is_rebuilt(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = packages.build(tmp_path)
    built = run("translate", "--system", SYSTEM, "--n-best", "2", given="le chat dort\nune pomme\n")
    assert (built.status, len(built.out.splitlines())) == (0, 4)
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    assert (
        run("translate", "--system", "transformer_prenorm", "--n-best", "2", given="le chat dort\nune pomme\n") == built
    )
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run("translate", "--model", str(folder), "--n-best", "2", given="le chat dort\nune pomme\n") == built


def test_several_systems_are_an_ensemble(lines, project):
    other = systems.lay_out(project, "rnn_encdec")
    alone, both = lines(given=TEXT), lines("--system", other, given=TEXT)
    translator = Translator.ensemble([Translator.built(System.parse(name)) for name in (SYSTEM, other)])
    assert both == translator.translate(LINES, Decoding.model_validate(packages.DECODING)) != alone


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([], "--system, --model: must be one of the two, got neither; expected the id of a system built here, or"),
        (["--system", "a", "--model", "b"], "--system, --model: must be one of the two, got both; expected"),
        (["--system", SYSTEM, "--n-best", "4"], "--n-best: must not exceed the beam size 3, got 4; expected fewer or"),
        (["--system", SYSTEM, "--file", "text.txt"], "--file: must stand alone, got 'le chat' too; expected one of"),
        (["--model", "x", "--glossary", "y.tsv"], "--glossary: no such file, got 'y.tsv'; expected a term a line"),
        (["--model", "models/x"], "models/x: no such folder; expected a folder that the stage `package` wrote"),
    ],
)
def test_faults_of_the_command_line_are_named(fails, project, arguments, what):
    assert fails("translate", *arguments, "le chat").startswith(what)


def test_lines_of_a_pipe_have_an_end_and_files_are_files(monkeypatch, tmp_path):
    for path, what in ((tmp_path / "text.txt", "no such file"), (tmp_path, "not a file")):
        with pytest.raises(DataError, match=f"^--file: {what}, got "):
            translate.lines(None, path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a\n" + b"b" * (1 << 21)))))
    with pytest.raises(
        DataError, match=r"^standard input line 2: has over 1,048,576 bytes; expected one sentence a line"
    ):
        list(translate.lines(None, None).lines)


def test_a_long_file_is_translated_in_shards_and_goes_on_after_a_kill(run, project, monkeypatch):
    (project / "test.txt").write_text("le chat\nLE CHAT ☃ DORT\n" * 4)
    (project / "terms.tsv").write_text("chat\tZZ\n")
    command = ("translate", "--system", SYSTEM, "--n-best", "2", "--file", "test.txt", "--glossary", "terms.tsv")
    for name, value in {"TOGETHER": 3, "MANY": 99, "SHARD": 3}.items():
        monkeypatch.setattr(translate, name, value)
    expected = run(*command)
    assert (expected.err.count("☃ on 4 lines"), expected.out.count("ZZ")) == (1, 8)
    monkeypatch.setattr(translate, "MANY", 7)
    ranked, blocks = Translator.ranked, []

    def killed(self, lines, *rest, **options):
        blocks.append(len(lines))
        if len(blocks) == 2:
            raise KeyboardInterrupt
        return ranked(self, lines, *rest, **options)

    monkeypatch.setattr(Translator, "ranked", killed)
    assert expected.out.startswith(run(*command).out)
    said = run(*command)
    assert (said.out, blocks) == (expected.out, [3, 3, 3, 2])
    assert said.err.endswith(expected.err)
    assert not any((project / "work/shards").iterdir())


@pytest.fixture
def environment(project_root):
    return os.environ | {"PYTHONPATH": str(project_root), "TERM": "xterm"}


def test_a_bar_on_the_terminal_leaves_the_pipe_alone(project, environment):
    master, slave = pty.openpty()
    done = subprocess.run(COMMAND, env=environment, input=TEXT.encode(), stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    shown = []
    with contextlib.suppress(OSError):  # of a terminal whose other end is closed
        while part := os.read(master, 1 << 16):
            shown.append(part)
    os.close(master)
    assert (done.returncode, done.stdout.count(b"\n")) == (0, len(LINES))
    assert b"\x1b" not in done.stdout
    assert "translate" in b"".join(shown).decode()


def test_a_person_has_each_answer_at_once(project, environment):
    master, slave = pty.openpty()
    running = subprocess.Popen(COMMAND, env=environment, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(slave)
    answers = []
    for line in (b"le chat noir\n", b"dort\n"):
        os.write(master, line)
        answers.append(running.stdout.readline())
    os.write(master, b"\x04")
    out, err = running.communicate()
    os.close(master)
    assert (running.returncode, out, err) == (0, b"", b"One sentence a line; Ctrl-D ends.\n")
    assert len(set(answers)) == 2
