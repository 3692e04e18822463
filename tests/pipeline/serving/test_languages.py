"""Names of languages."""

from pipeline.serving import languages


def test_names():
    assert [languages.name(code) for code in ("fr", "xx")] == ["French", "xx"]
    assert all(len(code) == 2 for code in languages.NAMES)
