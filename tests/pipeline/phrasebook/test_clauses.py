"""Clauses in both languages: tense, person, negation, pronouns, agreement."""

import pytest

from pipeline.phrasebook import french, lexicon
from pipeline.phrasebook.clauses import clause, state
from pipeline.phrasebook.phrases import Pair, Phrase, noun_phrase
from pipeline.phrasebook.words import Adjective, Expression, Noun, Verb

EAT, LOSE, GO, GET_UP = lexicon.EAT, lexicon.LOSE, lexicon.GO, Verb("se lever", "get up")
ME, SHE, WE, THEY = (Phrase("", "", person, True).pronoun for person in (0, 2, 3, 5))
KEYS = noun_phrase("the", Noun("clé", "key", True), True)


@pytest.mark.parametrize(
    ("pair", "french_text", "english_text"),
    [
        (clause(ME, EAT, "progressive"), "je mange", "I am eating"),
        (clause(SHE, EAT, "present", "pas"), "elle ne mange pas", "she doesn't eat"),
        (clause(WE, EAT, "present", "jamais"), "nous ne mangeons jamais", "we never eat"),
        (clause(SHE, EAT, "progressive", "pas"), "elle ne mange pas", "she isn't eating"),
        (clause(ME, EAT, "progressive", "pas"), "je ne mange pas", "I am not eating"),
        (clause(THEY, EAT, "past", "pas"), "elles n'ont pas mangé", "they didn't eat"),
        (clause(THEY, GO, "past"), "elles sont allées", "they went"),
        (clause(SHE, GO, "past", "pas"), "elle n'est pas allée", "she didn't go"),
        (clause(WE, GET_UP, "present"), "nous nous levons", "we get up"),
        (clause(SHE, GET_UP, "past"), "elle s'est levée", "she got up"),
        (clause(ME, LOSE, "past", pronoun="les", agreement=KEYS), "je les ai perdues", "I lost"),
        (clause(ME, EAT, "future", "pas"), "je ne mangerai pas", "I won't eat"),
        (clause(WE, EAT, "used to"), "nous mangions", "we used to eat"),
        (clause(SHE, EAT, "past progressive"), "elle mangeait", "she was eating"),
        (clause(SHE, EAT, "perfect", "jamais"), "elle n'a jamais mangé", "she has never eaten"),
        (
            clause(SHE, EAT, "present", adverb=Expression("souvent", "often")),
            "elle mange souvent",
            "she often eats",
        ),
        (clause(SHE, lexicon.CAN, "present", "pas"), "elle ne peut pas", "she can't"),
        (state(SHE, Adjective("heureux", "happy"), negation=True), "elle n'est pas heureuse", "she isn't happy"),
        (state(WE, Adjective("petit", "little"), past=True), "nous étions petites", "we were little"),
    ],
)
def test_clauses(pair: Pair, french_text: str, english_text: str) -> None:
    assert (french.spell(pair.french), pair.english) == (french_text, english_text)


def test_every_verb_of_the_lexicon_can_be_inflected() -> None:
    values = [value for found in vars(lexicon).values() for value in (found if isinstance(found, tuple) else [found])]
    verbs = {value for value in values if isinstance(value, Verb)}
    assert len(verbs) > 60
    for verb in verbs:
        for tense in ("present", "past", "used to", "future"):
            for person in range(6):
                assert all(clause(Phrase("x", "x", person, False), verb, tense))
