"""Synthetic text from a package or a program, and the graph under Slurm."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from pipeline.common import files
from pipeline.common.files import DataError
from pipeline.packaging import loading
from recipes.synthetic import synthesise
from tests.toys import packages
from tests.toys.project import ROOT, SYSTEMS, create, stages_run

LINES = ["le chat noir", "", "une pomme rouge", "le chat dort", "dort"]
UPPER = f"{sys.executable} -c 'import sys; [print(line.strip().upper()) for line in sys.stdin]'"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The keys of a page about a toy package, in a project that has it and a text."""
    monkeypatch.chdir(tmp_path)
    files.write_lines(tmp_path / "my/mono.fr", LINES)
    return {"folder": str(packages.build(tmp_path)), "decode": {"beam_size": 2}, "sampling": {}}


def page(*, output="my/taught.en", size=2, **translator):
    [(kind, keys)] = translator.items()
    content = {"text": "my/mono.fr", "output": output, "lines_per_shard": size, "translator": {"kind": kind} | keys}
    files.write_json(Path("page.yaml"), content)  # JSON is YAML
    return Path("page.yaml")


def written():
    return list(files.read_lines(Path("my/taught.en")))


def test_a_text_is_translated_line_by_line_into_the_same_bytes_by_any_number_of_processes(package, capsys):
    synthesise.main(page(package=package))
    translator = loading.load(Path(package["folder"]))
    expected = translator.translate(LINES, translator.decoding.changed(beam_size=2))
    assert written() == expected
    assert capsys.readouterr().out.endswith("my/taught.en: 5 lines, of which 1 are empty\n")
    synthesise.main(page(package=package))
    assert capsys.readouterr().out == "my/taught.en: is up to date\n"
    Path("my/taught.en").unlink()
    synthesise.main(page(package=package), processes=2)
    assert written() == expected
    assert not any(Path("work/shards").iterdir())


def test_what_a_page_or_its_text_changes_is_translated_again(package):
    synthesise.main(page(package=package))
    best = written()
    sampling = {"temperature": 1.0, "top_k": 0, "seed": 1}
    synthesise.main(page(package=package | {"sampling": sampling}))
    assert written() != best
    files.write_lines(Path("my/mono.fr"), LINES[:2])
    synthesise.main(page(package=package))
    assert written() == best[:2]


def test_a_killed_run_goes_on_where_it_was(package, monkeypatch):
    asked = []

    def translate(self, lines, what):
        asked.append(lines)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return [line[::-1] for line in lines]

    monkeypatch.setattr(synthesise.Packaged, "translate", translate)
    with pytest.raises(KeyboardInterrupt):
        synthesise.main(page(package=package))
    assert not Path("my/taught.en").exists()
    synthesise.main(page(package=package))
    assert asked == [LINES[:2], LINES[2:4], LINES[2:4], LINES[4:]]
    assert written() == [line[::-1] for line in LINES]


def test_a_program_may_translate(package):
    synthesise.main(page(command={"command": UPPER}, size=4))
    assert written() == [line.upper() for line in LINES]


def test_mistakes_are_named(package):
    with pytest.raises(DataError, match=r"translates fr to en, got my/mono.fr and my/taught.de; expected"):
        synthesise.main(page(output="my/taught.de", package=package))
    with pytest.raises(DataError, match="must print 2 lines for lines 1 to 2, got 0; expected"):
        synthesise.main(page(command={"command": "true"}))
    with pytest.raises(DataError, match=r"output: must be in my/, got taught.en; expected my/taught.en"):
        synthesise.main(page(output="taught.en", command={"command": "cat"}))
    files.write_lines(Path("my/taught.en"), ["Mine."])
    with pytest.raises(DataError, match=r"my/taught.en: is there, and not as this recipe wrote it; expected"):
        synthesise.main(page(command={"command": "cat"}))
    assert written() == ["Mine."]


@pytest.mark.slow
def test_two_nodes_under_slurm_build_what_one_machine_does(tmp_path, monkeypatch):
    """Stand-ins for Slurm's commands run every job here; the first training is asked to stop, and queued again."""
    project, spool, system = create(tmp_path / "clone"), tmp_path / "spool", SYSTEMS[1]
    spool.mkdir()
    files.write_lines(project.root / ".venv/bin/activate", [f"PATH={Path(sys.executable).parent}:$PATH"])
    monkeypatch.setenv("PATH", f"{ROOT / 'tests/toys/slurm'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_SPOOL", str(spool))
    monkeypatch.setenv("TRAIN_PROCESSES", "1")
    project.edit("build.models", ["transformer_prenorm"])
    project.edit("training.updates", 200)
    project.dvc("repro", "download@toy")
    submitted = project.run("bash", "recipes/slurm/submit.sh", "--nodes=2", system)
    logs = {path.name: path.read_text() for path in (project.root / "work/slurm").iterdir()}
    assert (submitted.returncode, submitted.stdout) == (0, "Submitted batch job 3\n"), submitted.stderr + str(logs)
    assert [(spool / job).read_text() for job in "123"] == ["0"] * 3, logs
    assert "asked to stop, saved at update " in logs["train-2.log"]
    assert "goes on from update " in logs["train-2.log"]
    assert {stage.partition("@")[0] for stage in stages_run(logs["finish-3.log"])} == {
        "average",
        "decode",
        "score",
        "attend",
        "package",
        "report",
    }
    assert project.repro() == []
    lock = project.lock()
    shutil.rmtree(project.root / "work/train")
    project.dvc("repro", "--single-item", "--force", f"train@{system}")
    assert project.lock() == lock
