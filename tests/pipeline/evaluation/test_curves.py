"""What learning curves say, by numbers made up."""

import pytest

from pipeline.evaluation.curves import NOTHING, of_training

USUAL = [7.0, 5.0, 3.0, 2.0, 1.5, 1.3, 1.2, 1.15, 1.12, 1.1]
ENDED = [3.5, 1.2, 1.0, 0.98]


def training(trained, validated, updates=1000, num_bitexts=1, stopped="updates"):
    """The findings on curves, evenly spread over the updates."""
    history, curve = (
        [{"update": updates * n // len(values), name: str(value)} for n, value in enumerate(values, 1)]
        for name, values in (("validation_loss", validated), ("train_loss", trained))
    )
    return of_training(history, curve, {"mixture": dict.fromkeys(range(num_bitexts)), "stopped": stopped})


@pytest.mark.parametrize(
    ("trained", "validated", "expected"),
    [
        (USUAL, ENDED, [NOTHING]),
        (USUAL, [1.0], [NOTHING]),
        (USUAL[:4], [2.0], ["still learning at the end: training loss fell by 0.40 in the last tenth"]),
        (USUAL, [3.5, 2.0, 1.0, 0.8], ["still learning at the end: validation loss fell by 0.08 in the last tenth"]),
        (USUAL, [3.5, 3.2, 3.1, 3.1], ["over-fitting: validation loss is 3.10, training loss 1.10; try"]),
        (USUAL, [3.5, 1.2, 1.0, 1.4], ["over-fitting: validation loss rose from 1.00 at update 750 to 1.40"]),
        (
            [loss for loss in (7.0, 5.0, 5.2, 6.5, 6.0, *ENDED) for _ in range(3)],
            ENDED,
            ["training loss rose from 5.00 to 6.50 by update 444: the learning"],
        ),
        ([7.0, *[5.0, 5.1] * 30], ENDED, [NOTHING]),  # chance, within a tenth
        ([3.9, 1.5, 4.0, 1.4, 1.5, 1.3, 3.7, 1.4, 3.6, 1.3, 1.4, 3.9, 1.3, 3.5] * 3, ENDED, [NOTHING]),  # two bitexts
    ],
)
def test_findings_with_their_number(trained, validated, expected):
    findings = training(trained, validated)
    assert [line[: len(start)] for line, start in zip(findings, expected, strict=True)] == expected
    assert findings == [NOTHING] or all("; try " in line for line in findings)


def test_a_mixture_is_easier_than_its_validation_text():
    flat = [3.5, 3.2, 3.1, 3.1]
    assert training(USUAL, flat, num_bitexts=2) == [NOTHING]
    assert "over-fitting" in training(USUAL, [*flat, 3.2], num_bitexts=2)[0]
    assert training(USUAL, [*flat, 3.2], num_bitexts=2, stopped="patience") == [NOTHING]
