"""BLEU against the sacrebleu command, and by hand."""

import subprocess
import sys

import pytest

from pipeline.evaluation.bleu import bleu

HYPOTHESES = ["The cat sat on the mat .", "", "Où est-ce qu'il habite, « ici » ?", "It costs 3.50 $, I think."]
REFERENCES = ["The cat sat on a mat.", "Nothing at all.", "Où est-ce qu'il habite, ici ?", "I think it costs $3.50."]


def test_bleu_is_the_one_number_of_the_sacrebleu_command(tmp_path):
    for name, lines in (("hypotheses", HYPOTHESES), ("references", REFERENCES)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    call = [sys.executable, "-m", "sacrebleu", "references", "-i", "hypotheses", "-w", "4", "-b"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert bleu(HYPOTHESES, REFERENCES) == float(done.stdout)


def test_bleu_by_hand():
    # 5 of 6 words, 3 of 5 pairs, 2 of 4 triples and 1 of 3 fours stand in the reference, which is as long
    expected = 100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4)
    assert bleu(["the cat sat on the mat"], ["the cat sat on a mat"]) == pytest.approx(expected, abs=1e-4)


def test_empty_translations_score_zero():
    assert bleu(["", ""], ["a b", "c d"]) == 0
