"""Comparisons against the sacrebleu command, and where its answer would mislead."""

import json
import os
import subprocess
import sys

import pytest

from pipeline.evaluation.significance import compare

REFERENCES = [
    f"the {animal} sees {number} green birds near the old house ." for animal in ("cat", "dog") for number in range(12)
]
BEST = [line.replace("green", "blue") if index % 6 == 0 else line for index, line in enumerate(REFERENCES)]
CLOSE = [line.replace("near", "at") if index % 5 == 0 else line for index, line in enumerate(REFERENCES)]
POOR = [line.replace("green birds near", "a bird in") if index % 4 else line for index, line in enumerate(REFERENCES)]
SYSTEMS = {"best": BEST, "close": CLOSE, "poor": POOR}


def compared(systems, references=REFERENCES, **changes):
    return compare(systems, references, **{"tokenize": "13a", "num_samples": 200, "seed": 7} | changes)


def command(tmp_path, samples, seed):
    """What `sacrebleu --paired-bs` itself answers."""
    for name, lines in {"references": REFERENCES, **SYSTEMS}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    call = [sys.executable, "-m", "sacrebleu", "references", "-i", *SYSTEMS, "-m", "bleu", "-f", "json", "--force"]
    call += ["--paired-bs", "--paired-bs-n", str(samples)]
    environment = os.environ | {"SACREBLEU_SEED": str(seed)}
    return subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout


def test_standings_are_those_of_the_sacrebleu_command(tmp_path):
    answers = json.loads(command(tmp_path, samples=200, seed=7))
    found = compared(SYSTEMS)
    assert [answer["system"] for answer in answers][1:] == ["close", "poor"]
    for answer, standing in zip(answers, found.standings.values(), strict=True):
        bleu = answer["BLEU"]
        assert standing.mean == pytest.approx(bleu["mean"], abs=1e-4)
        assert standing.margin == pytest.approx(bleu["ci"], abs=1e-4)
        assert standing.p_value == (pytest.approx(bleu["p_value"]) if bleu["p_value"] is not None else None)


def test_the_signature_says_how_often_and_from_which_seed():
    assert compared(SYSTEMS).signature.startswith("nrefs:1|bs:200|seed:7|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert "|tok:none|" in compared(SYSTEMS, tokenize="none").signature


def test_a_clear_difference_is_none_of_chance():
    found = compared(SYSTEMS).standings
    assert found["best"].p_value is None
    assert found["close"].p_value > 0.05
    assert found["poor"].p_value < 0.05


def test_the_seed_decides():
    assert compared(SYSTEMS) == compared(SYSTEMS)
    assert compared(SYSTEMS).standings["poor"].mean != compared(SYSTEMS, seed=8).standings["poor"].mean


def test_one_system_has_an_interval_and_no_p():
    found = compared({"best": BEST})
    assert found.standings["best"].margin > 0
    assert found.standings["best"].p_value is None


def test_equal_translations_differ_by_chance():
    found = compared({"best": BEST, "same": list(BEST)})
    assert found.standings["same"].p_value == 1.0
    assert found.standings["same"][:2] == pytest.approx(found.standings["best"][:2])


def test_one_sentence_cannot_be_resampled():
    found = compared({name: lines[:1] for name, lines in SYSTEMS.items()}, REFERENCES[:1])
    assert found.standings == {}
    assert "bs:200" in found.signature


def test_empty_translations_can_be_compared():
    found = compared({"best": BEST, "mute": [""] * len(BEST)})
    assert found.standings["mute"][:2] == (0, 0)
    assert found.standings["mute"].p_value < 0.05


@pytest.mark.parametrize("before", [None, "12"])
def test_the_users_own_seed_stays(monkeypatch, before):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    if before:
        monkeypatch.setenv("SACREBLEU_SEED", before)
    assert "|seed:7|" in compared({"best": BEST}).signature
    assert os.environ.get("SACREBLEU_SEED") == before
