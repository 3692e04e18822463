import random

from pipeline.serving.long_lines import parts_that_fit


def few_words(number):
    return lambda text: len(text.split()) <= number


def test_cuts_come_behind_clauses_then_words_then_anywhere():
    assert parts_that_fit("a b, c d e, f", few_words(3), 100) == ["a b,", "c d e,", "f"]
    assert parts_that_fit("a b c d e", few_words(2), 100) == ["a b", "c d", "e"]
    assert parts_that_fit("abcdefgh", lambda text: len(text) <= 3, 100) == ["abc", "def", "gh"]
    assert parts_that_fit("ab", lambda text: False, 100) == ["a", "b"]
    assert parts_that_fit("a b", few_words(2), 100) == ["a b"]


def test_nothing_is_lost_and_little_is_asked():
    for seed in range(300):
        draw = random.Random(seed)
        line = "".join(draw.choices("ab, ;é  ", k=draw.randrange(1, 400))).strip()
        asked, most = 0, draw.randrange(1, 30)

        def fits(text, most=most):
            nonlocal asked
            asked += len(text)
            return len(text) <= most

        parts = parts_that_fit(line, fits, 30)
        assert "".join("".join(parts).split()) == "".join(line.split())
        assert all(part and part == part.strip() for part in parts)
    assert asked < 1_000_000


def test_time_grows_as_the_line():
    calls = []
    for size in (10_000, 40_000):
        asked = []
        parts_that_fit("a" * size, lambda text, asked=asked: not asked.append(len(text)) and len(text) <= 50, 10)
        calls.append(sum(asked))
    assert calls[1] < 5 * calls[0]
