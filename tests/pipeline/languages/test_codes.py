"""Codes of languages as people write them."""

import pytest

from pipeline.languages import codes as languages


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        *(("fr", "fr"), ("FR", "fr"), ("fra", "fr"), ("deu", "de"), ("hsb", "hsb"), ("pt_BR", "pt-BR")),
        *(("fr-ca", "fr-CA"), ("zh_hans", "zh-Hans"), ("sr-latn-rs", "sr-Latn-RS"), ("es-419", "es-419")),
        *(("bak", None), ("doc", None), ("txt", None), ("xx", None), ("", None), ("fr-", None), ("francais", None)),
    ],
)
def test_one_form_for_each_code(text, tag):
    assert languages.tag(text) == tag


@pytest.mark.parametrize(
    ("wanted", "available", "code"),
    [
        ("FR", ["en", "fr"], "fr"),
        ("fr_CA", ["en", "fr"], "fr"),
        ("fr-CA", ["fr", "fr-CA"], "fr-CA"),
        ("pt", ["pt_BR", "en"], "pt_BR"),
        ("pt", ["pt-BR", "pt-PT"], None),
        ("zh-TW", ["zh-CN"], None),
        ("deu", ["de"], "de"),
        ("Qya", ["qya"], "qya"),
        ("es", ["fr"], None),
    ],
)
def test_the_code_that_fits(wanted, available, code):
    assert languages.match(wanted, available) == code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *(("talk.fr.doc", "fr"), ("train.de.bak", "de"), ("x.de.gz", "de"), ("x.pt_BR.txt", "pt-BR")),
        *(("Europarl.de-en.de", "de"), ("Europarl.de-en.txt", None), ("fr", None), ("train.tok.bpe", None)),
    ],
)
def test_endings_that_are_languages(name, code):
    assert languages.of_file(name) == code


def test_names():
    assert [languages.name_of(code) for code in ("nb", "ba", "fy", "zu", "qya")] == [
        *("Norwegian Bokmål", "Bashkir", "Western Frisian", "Zulu", "qya")
    ]
    assert len(languages.NAMES) == 183
