"""A metric of another program, in an environment of its own."""

import re
import venv

import pytest

from pipeline.common.files import DataError
from pipeline.evaluation import external
from pipeline.evaluation.settings import External

SOURCES = ["Oui !", "Un\tchat", "é"]
HYPOTHESES = ["Yes !", "A cat", "é"]
REFERENCES = [["Yes .", "The cat", "e"], ["Yes !", "A cat", "o"]]


def score(command):
    return external.run("toy", External(command=command), SOURCES, HYPOTHESES, REFERENCES)


def test_a_program_runs_in_its_own_environment(tmp_path, project_root):
    venv.create(tmp_path / "own", symlinks=True)
    detail, sentences = score(f"{tmp_path}/own/bin/python {project_root}/tests/toys/metric.py")
    assert sentences == [2.0, 2.0, 0.0]
    assert detail == {"score": 1.3333, "signature": "shared-words 1.0, sacrebleu False", "interval": None}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program", "[Errno 2] No such file or directory: 'no-such-program'; expected"),
        ("false", "Command '['false']' returned non-zero exit status 1.; expected"),
        ("cat", "prints no number in line 1, got "),
        ("seq 3", "must print 3 numbers and then `<total> <name>`, got 2 and '3'"),
        ("printf '1\n2\nnan\n1.5 toy'", "prints no number in line 3, got 'nan'"),
    ],
)
def test_another_program_is_named(command, message):
    with pytest.raises(DataError, match=f"^score.external.toy.command: {re.escape(message)}"):
        score(command)
