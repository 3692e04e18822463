import pytest

from pipeline.languages.identification import identify

TEXTS = {
    "de": "Das ist nicht der Hund, und ich mag die Katze.",
    "en": "The dog of the house and that cat are for you.",
    "nb": "Hva gjør du i morgen? Jeg vet ikke hvorfor hunden bjeffer.",
    "ru": "Собака лает, потому что она голодна.",
    "zh": "狗叫了，因为它饿了。",
}


@pytest.mark.parametrize(("code", "text"), TEXTS.items())
def test_plain_sentences(code, text):
    assert identify(text)[0] == {"nb": "no"}.get(code, code)
    assert identify(text, [*TEXTS])[0] == code


def test_a_choice_keeps_its_spelling_and_its_probabilities_are_among_it():
    code, probability = identify(TEXTS["en"], ["de_AT", "EN-us", "tlh"])
    assert (code, probability > 0.9) == ("EN-us", True)
    assert identify("", ["de", "en"])[1] == pytest.approx(0.5)
    assert identify(TEXTS["en"], ["tlh", "xx"]) == ("tlh", 0.0)
