import contextlib
import os
import pty
import shutil
import subprocess
import sys

import pytest

from pipeline.commands.translate import overridden
from pipeline.decoding.translate import Decoding
from pipeline.decoding.translator import Translator
from pipeline.files import DataError
from pipeline.packaging import package
from pipeline.system import System
from pipeline.vocabularies.vocabulary import Vocabulary
from stages.decode import main as decode
from tests.toys import packages, systems
from tests.toys.systems import SYSTEM

LINES = systems.PARTS["test"]
TEXT = "".join(line + "\n" for line in LINES)


@pytest.fixture
def lines(run):
    """What `nmt translate` writes, line by line."""

    def lines_of(*arguments, given=""):
        said = run("translate", "--system", SYSTEM, *arguments, given=given)
        assert said.status == 0, said.err
        return said.out.removesuffix("\n").split("\n")

    return lines_of


def test_a_sentence(project, lines):
    [line] = lines("le chat noir")
    translator = Translator.built(System.parse(SYSTEM))
    assert line != ""
    assert lines("--", "le chat noir") == [line]
    assert lines("le chat noir\ndort") == [line, *lines("dort")]
    assert lines("") == [""]
    assert translator.text(translator.vocabulary.encode_target([line])[0]) == line


def test_a_file_and_standard_input_are_what_decode_writes(project, lines):
    """One line out for each line in, in order, the empty ones too."""
    decode("toy", "bpe_toy", "transformer_prenorm", "tiny")
    expected = (project / "data/decode" / SYSTEM / "test.txt").read_text().split("\n")[:-1]
    (project / "test.txt").write_text(TEXT)
    short = [index for index, line in enumerate(LINES) if line != systems.WORDS]  # which decode reads whole
    for found in (lines("--file", "test.txt"), lines(given=TEXT)):
        assert len(found) == len(LINES)
        assert found[1] == found[3] == ""
        assert [found[index] for index in short] == [expected[index] for index in short]


def test_a_last_line_without_an_end_and_dos_ends(lines, project):
    expected = lines("le chat noir")
    assert lines(given="le chat noir") == expected
    assert lines(given="le chat noir\r\n") == expected


def test_nothing_in_nothing_out(run, project):
    said = run("translate", "--system", SYSTEM)
    assert (said.status, said.out, said.err) == (0, "", "")


def test_n_best_are_numbered_scored_and_ordered(lines, project):
    plain = lines(given=TEXT)
    rows = [row.split("\t") for row in lines("--n-best", "3", given=TEXT)]
    assert {len(row) for row in rows} == {3}
    assert [int(row[0]) for row in rows] == sorted(int(row[0]) for row in rows)
    for number, line in enumerate(LINES, 1):
        own = [row for row in rows if row[0] == str(number)]
        scores = [float(score) for _, score, _ in own]
        assert scores == sorted(scores, reverse=True)
        assert own[0][2] == plain[number - 1]
        assert len(own) == (3 if line.strip() else 1)
    assert ["2", "0.0000", ""] in rows
    assert [row.split("\t")[2] for row in lines("--n-best", "1", given=TEXT)] == plain


def test_scores_stand_before_translations(lines, project):
    first = lines("--n-best", "2", "le chat noir")[0].split("\t")[1:]
    assert [row.split("\t") for row in lines("--scores", "le chat noir")] == [first]


def test_pieces_are_those_read_and_written(lines, project):
    vocabulary = Vocabulary.load(project / "data/vocabulary/toy-bpe_toy")
    [row] = lines("--pieces", "le chat noir")
    text, read, written = row.split("\t")
    assert [text] == lines("le chat noir")
    assert read.split(" ") == vocabulary.source_pieces(vocabulary.encode_source(["le chat noir"])[0])
    assert written.replace(" ", "").replace("▁", " ").strip() == text
    assert [len(row.split("\t")) for row in lines("--pieces", "--n-best", "2", "le chat")] == [5, 5]


def test_the_command_line_says_how_to_search(lines, project):
    section = (project / "params.yaml").read_text()
    (project / "params.yaml").write_text(
        section.replace("beam_size: 3, length_penalty: 0.6", "beam_size: 2, length_penalty: 0.0")
    )
    expected = lines("--scores", given=TEXT)
    (project / "params.yaml").write_text(section)
    assert lines("--scores", given=TEXT) != expected
    assert lines("--scores", "--beam", "2", "--length-penalty", "0", given=TEXT) == expected
    assert len(lines("--beam", "5", "--n-best", "5", "le chat")) == 5


def test_a_long_line_is_translated_in_part_and_named(run, project):
    said = run("translate", "--system", SYSTEM, given=f"le chat\n{systems.WORDS}\n")
    vocabulary = Vocabulary.load(project / "data/vocabulary/toy-bpe_toy")
    [pieces] = vocabulary.encode_source([systems.WORDS])
    assert said.out.count("\n") == 2
    assert said.err == (
        f"warning: standard input line 2: longer than in training, got {len(pieces)} pieces; "
        f"only the first {systems.MAX_LENGTH - 1} are translated\n"
    )
    shorter = vocabulary.source.decode(pieces[: systems.MAX_LENGTH - 1])
    assert run("translate", "--system", SYSTEM, shorter).out == said.out.split("\n")[1] + "\n"


def test_unknown_pieces_only_are_translated_and_named(run, project):
    (project / "greek.txt").write_text(f"dort\nξένος\n{'ξ' * 70}\n")
    said = run("translate", "--system", SYSTEM, "--file", "greek.txt")
    assert said.out.count("\n") == 3
    assert said.err.splitlines() == [
        "warning: greek.txt line 2: only unknown pieces, got 'ξένος'; expected text like that of the training part",
        f"warning: greek.txt line 3: only unknown pieces, got '{'ξ' * 60}...'; "
        "expected text like that of the training part",
    ]
    assert run("translate", "--system", SYSTEM, "ξένος").err.startswith("warning: sentence line 1: only unknown pieces")


def test_however_a_sentence_is_spelt(run, project):
    """Every line gives the answer of the plain one, and each gives one: no character but a line feed ends a line."""
    plain = "une pomme rouge\n"
    given = (
        plain
        + "une\u202fpomme rouge\n\ufeffune pomme rouge\nune\x0bpomme\u2028rouge\x0c\nune p\u00adomme\u200b rouge\n"
    )
    said = run("translate", "--system", SYSTEM, given=given)
    assert said == (0, run("translate", "--system", SYSTEM, "une pomme rouge").out * 5, "")


def test_a_line_of_nothing_that_is_seen_gives_an_empty_one(run, project):
    given = "le chat\n\u200b\n\ufeff \u00ad\u2028\n\nle chat\n"
    chat = run("translate", "--system", SYSTEM, "le chat").out
    assert run("translate", "--system", SYSTEM, given=given) == (0, f"{chat}\n\n\n{chat}", "")
    assert run("translate", "--system", SYSTEM, "\u200b").out == "\n"


def test_words_that_training_never_saw_are_named(run, project):
    (project / "data/vocabulary/toy-bpe_toy.seen_words.txt").write_text("chat\ndort\nle\n")
    said = run("translate", "--system", SYSTEM, given="le chat dort\nnoir LE CHAT rouge\nξένος\n")
    assert said.out.count("\n") == 3
    assert said.err.splitlines() == [
        "warning: standard input line 2: words that training never saw, got noir, rouge; "
        "the translation may make no sense",
        "warning: standard input line 3: only unknown pieces, got 'ξένος'; "
        "expected text like that of the training part",
    ]


def test_more_than_the_beam_finds_is_refused(fails, project):
    asked = ("translate", "--system", SYSTEM, "--n-best", "4", "le chat")
    assert fails(*asked) == "--n-best: must not exceed the beam size 3, got 4; expected fewer or --beam 4"
    assert fails(*asked, "--beam", "2") == (
        "--n-best: must not exceed the beam size 2, got 4; expected fewer or --beam 4"
    )


def test_training_pairs_are_remembered_on_demand(run, project):
    asked = ("translate", "--system", SYSTEM, "--scores", "le chat noir")
    assert run(*asked, "--memory-pairs", "0").out == run(*asked).out != run(*asked, "--memory-pairs", "3").out


@pytest.mark.parametrize("option", ["--beam", "--n-best", "--sample"])
def test_numbers_that_are_too_large_are_refused(run, project, option):
    said = run("translate", "--system", SYSTEM, option, "1001", "le chat")
    assert (said.status, said.out) == (2, "")
    assert f"'{option}': Input should be less than or equal to 1000" in said.err


def test_lines_before_a_bad_one_are_translated(run, project, monkeypatch):
    monkeypatch.setattr("pipeline.commands.translate.TOGETHER", 1)
    said = run("translate", "--system", SYSTEM, given=b"le chat\nle \xff chat\n")
    assert said.status == 1
    assert said.out.count("\n") == 1
    assert said.err == (
        "error: standard input line 2: invalid UTF-8, got byte 0xff at column 4; expected text in UTF-8\n"
    )


def environment(project_root):
    return os.environ | {"PYTHONPATH": str(project_root), "TERM": "xterm"}


COMMAND = [sys.executable, "-m", "pipeline.commands.nmt", "translate", "--system", SYSTEM]


def test_a_pipe_that_closes_is_no_fault(project, project_root):
    """As `head` closes it: many lines are left unread."""
    reader, writer = os.pipe()
    running = subprocess.Popen(
        COMMAND,
        cwd=project,
        env=environment(project_root),
        stdin=subprocess.PIPE,
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    os.close(reader)
    _, err = running.communicate(b"le chat noir\n" * 50)
    assert err == b""
    assert running.returncode == 1


def test_a_bar_on_the_terminal_leaves_the_pipe_alone(project, project_root):
    master, slave = pty.openpty()
    done = subprocess.run(
        COMMAND, cwd=project, env=environment(project_root), input=TEXT.encode(), stdout=subprocess.PIPE, stderr=slave
    )
    os.close(slave)
    parts = []
    with contextlib.suppress(OSError):  # of a terminal whose other end is closed
        while part := os.read(master, 1 << 16):  # a slow machine draws the bar more often than one call returns
            parts.append(part)
    os.close(master)
    shown = b"".join(parts).decode()
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == len(LINES)
    assert b"\x1b" not in done.stdout
    assert "translate" in shown
    assert "warning: standard input line 7" in shown


def test_a_person_has_each_answer_at_once(project, project_root):
    master, slave = pty.openpty()
    running = subprocess.Popen(
        COMMAND, cwd=project, env=environment(project_root), stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.close(slave)
    answers = []
    for line in (b"le chat noir\n", b"dort\n"):
        os.write(master, line)
        answers.append(running.stdout.readline())
    os.write(master, b"\x04")
    out, err = running.communicate()
    os.close(master)
    assert running.returncode == 0
    assert (len(answers), out) == (2, b"")
    assert answers[0] != answers[1]
    assert err == b"One sentence a line; Ctrl-D ends.\n"


def test_a_packaged_system_translates_outside_of_any_project(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = packages.build(tmp_path)
    built = run("translate", "--system", SYSTEM, "--n-best", "2", given="le chat dort\nune pomme\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    said = run("translate", "--model", str(folder), "--n-best", "2", given="le chat dort\nune pomme\n")
    assert said == built
    assert said.status == 0
    assert len(said.out.splitlines()) == 4


def test_samples_depend_on_seed_line_number_and_line_alone(run, project):
    def sample(*more, given=TEXT):
        said = run("translate", "--system", SYSTEM, "--sample", "3", *more, given=given)
        assert said.status == 0, said.err
        return [row.split("\t") for row in said.out.split("\n")[:-1]]

    rows = sample()
    assert [int(number) for number, _, _ in rows] == [1 + index // 3 for index in range(3 * len(LINES))]
    assert len({text for _, _, text in rows[:3]}) > 1
    assert rows == sample("--seed", "1")
    assert rows != sample("--seed", "2")
    assert rows[:3] == sample(given=LINES[0] + "\n")
    assert rows[6:9] == sample(given="x\n\n" + LINES[2] + "\n")[6:9]
    assert ["2", "0.0000", ""] in rows
    best = run("translate", "--system", SYSTEM, "--beam", "1", "le chat noir").out
    assert sample("--temperature", "0.0001", given="le chat noir")[0][2] + "\n" == best


def test_diverse_translations_differ_and_depend_on_their_line_alone(run, project, lines):
    rows = [row.split("\t") for row in lines("--diverse", "3", "--diversity", "5", given=TEXT)]
    assert [int(number) for number, _, _ in rows] == [1 + index // 3 for index in range(3 * len(LINES))]
    assert len({text for _, _, text in rows[:3]}) == 3
    assert ["2", "0.0000", ""] in rows
    scores = [float(score) for _, score, _ in rows[:3]]
    assert scores == sorted(scores, reverse=True)
    assert [row.split("\t") for row in lines("--diverse", "3", "--diversity", "5", LINES[0])] == rows[:3]
    assert [row.split("\t")[2] for row in lines("--diverse", "1", "le chat noir")] == lines(
        "--beam", "1", "le chat noir"
    )


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (
            "--sample",
            ["--temperature", "0"],
            "--temperature: must be positive and finite, got 0.0; expected a number such as 0.7",
        ),
        (
            "--sample",
            ["--temperature", "nan"],
            "--temperature: must be positive and finite, got nan; expected a number such as 0.7",
        ),
        ("--sample", ["--n-best", "2"], "--sample: must stand without --n-best, got both; expected one of the two"),
        ("--sample", ["--beam", "2"], "--sample: must stand without --beam, got both; expected one of the two"),
        ("--sample", ["--diverse", "2"], "--sample: must stand without --diverse, got both; expected one of the two"),
        ("--diverse", ["--beam", "2"], "--diverse: must stand without --beam, got both; expected one of the two"),
        ("--diverse", ["--n-best", "2"], "--diverse: must stand without --n-best, got both; expected one of the two"),
        (
            "--sample",
            ["--mbr-temperature", "0.3"],
            "--sample: must stand without --mbr-temperature, got both; expected one of the two",
        ),
        (
            "--sample",
            ["--diversity", "1"],
            "--diversity: needs --diverse, got 1.0 without it; expected both or neither",
        ),
        (
            "--diverse",
            ["--mbr-temperature", "0.3"],
            "--diverse: must stand without --mbr-temperature, got both; expected one of the two",
        ),
        (
            "--diverse",
            ["--temperature", "0.7"],
            "--temperature: needs --sample, got 0.7 without it; expected both or neither",
        ),
        ("--beam", ["--seed", "0"], "--seed: needs --sample, got 0 without it; expected both or neither"),
        (
            "--diverse",
            ["--diversity", "0"],
            "--diversity: must be positive and finite, got 0.0; expected a number such as 0.5",
        ),
    ],
)
def test_options_that_do_not_fit(run, project, kind, options, said):
    found = run("translate", "--system", SYSTEM, kind, "2", *options, "le chat")
    assert (found.status, found.out, found.err) == (1, "", f"error: {said}\n")


def test_several_systems_translate_together(run, project):
    other = systems.lay_out(project, "rnn_encdec")
    [alone, another] = (run("translate", "--system", name, "--scores", given=TEXT).out for name in (SYSTEM, other))
    said = run("translate", "--system", SYSTEM, "--system", other, "--scores", given=TEXT)
    assert said.status == 0, said.err
    assert said.out.count("\n") == len(LINES)
    assert said.out not in (alone, another)
    both = Translator.ensemble([Translator.built(System.parse(name)) for name in (SYSTEM, other)])
    decoding = Decoding.load_all("decode", "corpora/toy.yaml:decode")
    found = both.search(both.read(LINES), decoding)
    expected = [f"{one.score:.4f}\t{both.text(one.ids)}" for [one] in found]
    assert said.out.split("\n")[:-1] == expected


def test_several_packages_translate_together(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [packages.build(tmp_path, model) for model in ("transformer_prenorm", "rnn_encdec")]
    options = [option for folder in folders for option in ("--model", str(folder))]
    expected = run(
        "translate", *(option for folder in folders for option in ("--system", folder.name)), "--scores", given=TEXT
    )
    assert expected.status == 0, expected.err
    assert run("translate", *options, "--scores", given=TEXT) == expected


def test_a_system_is_named_once(run, project):
    said = run("translate", "--system", SYSTEM, "--system", "prenorm", "x")
    assert said.status == 1
    assert said.err == f"error: --system: must be different systems, got {SYSTEM} 2 times; expected each once\n"


def test_an_ensemble_shares_a_vocabulary(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = packages.build(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    text = (copy / "vocabulary/vocabulary.json").read_text()
    (copy / "vocabulary/vocabulary.json").write_text(text + "\n")
    (copy / "checksums.json").unlink()
    package.seal(copy)
    said = run("translate", "--model", str(folder), "--model", str(copy), "x")
    assert (said.status, said.out) == (1, "")
    assert said.err == (
        "error: --model: an ensemble must share one vocabulary, got different ones; "
        "expected systems of the same corpus and vocabulary, trained on the same data\n"
    )


@pytest.mark.parametrize(("given", "got"), [([], "neither"), (["--system", SYSTEM, "--model", "m"], "both")])
def test_either_a_system_or_a_folder(fails, project, given, got):
    assert fails("translate", *given, "x") == (
        f"--system, --model: must be one of the two, got {got}; "
        "expected the id of a system built here, or a packaged folder"
    )


def test_a_folder_that_is_none_is_one_line(fails, project):
    assert fails("translate", "--model", "gone", "x") == (
        "gone: no such folder; expected a folder that the stage `package` wrote"
    )


def test_settings_of_the_command_line():
    decoding = Decoding.model_validate(packages.DECODING)
    found = overridden(decoding, 7, 0.0)
    assert (found.beam_size, found.length_penalty, found.max_length_offset) == (7, 0.0, 5)
    assert overridden(decoding, None, None) == decoding
    warm = overridden(decoding, None, mbr_temperature=0.3)
    assert warm.mbr_temperature == 0.3
    assert overridden(warm, None, mbr_temperature=None) == warm
    assert overridden(warm, None, mbr_temperature=0.0) == decoding
    assert overridden(decoding, None, memory_pairs=128) == decoding.changed(memory_pairs=128)
    assert overridden(decoding.changed(memory_pairs=9), None, memory_pairs=0) == decoding


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_length_penalty_that_is_no_number_is_named(value):
    with pytest.raises(DataError) as caught:
        overridden(Decoding.model_validate(packages.DECODING), None, value)
    assert str(caught.value) == f"--length-penalty: must be finite, got {value}; expected 0 or more, such as 0.6"
    with pytest.raises(DataError) as caught:
        overridden(Decoding.model_validate(packages.DECODING), None, mbr_temperature=value)
    assert str(caught.value) == f"--mbr-temperature: must be finite, got {value}; expected 0 or more, such as 0.3"
