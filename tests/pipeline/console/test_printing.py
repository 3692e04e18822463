"""What a terminal would obey is shown instead."""

import pytest

from pipeline.console import printing as terminal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b2J\x07\x7f\x00", "\\x9b2J\\x07\\x7f\\x00"),
        ("a\rb", "a\\rb"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u2028b", "a\\u2028b"),
        ("\udcff", "\\udcff"),
        ("O\u00f9 est\u202fla\u00a0gare\u200d?\tA\nB \u4e2d", "O\u00f9 est\u202fla\u00a0gare\u200d?\tA\nB \u4e2d"),
    ],
)
def test_what_a_terminal_obeys_is_written_out(text: str, shown: str) -> None:
    assert terminal.printable(text) == shown
