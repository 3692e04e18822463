"""What asks, orders and wishes: a sentence of each pattern, and imperatives."""

from collections.abc import Callable
from types import ModuleType

import pytest

from pipeline.phrasebook import questions
from pipeline.phrasebook.phrases import Phrase
from pipeline.phrasebook.words import Verb

WrittenBy = Callable[[ModuleType], dict[str, set[tuple[str, str]]]]

# One of each pattern, read and found right in both languages.
CHECKED = {
    "asking_whether": ("Est-ce que le boulanger a peint le garage bleu ?", "Did the baker paint the blue garage?"),
    "asking_where": ("Où avez-vous trouvé ces chapeaux ?", "Where did you find these hats?"),
    "asking_why": ("Pourquoi est-ce que nous étions heureux ce matin ?", "Why were we happy this morning?"),
    "asking_choice": ("Préférez-vous le beurre ou le fromage ?", "Do you prefer butter or cheese?"),
    "asking_colour": (
        "Quels sacs préfères-tu, les jaunes ou les blancs ?",
        "Which bags do you prefer, the yellow ones or the white ones?",
    ),
    "asking_when": (
        "À quelle heure est-ce que Louis se réveille le week-end ?",
        "What time does Louis wake up on weekends?",
    ),
    "asking_who": ("Qui a fini ces lettres ?", "Who finished these letters?"),
    "asking_number": (
        "Combien de fauteuils y a-t-il dans la salle de bains ?",
        "How many armchairs are there in the bathroom?",
    ),
    "asking_nearby": ("Est-ce qu'il y a un musée près de la bibliothèque ?", "Is there a museum near the library?"),
    "asking_ability": ("Peux-tu laver ma veste demain matin ?", "Can you wash my jacket tomorrow morning?"),
    "ordering": ("Ferme cette fenêtre, s'il te plaît.", "Close this window, please."),
    "warning": ("Ne cachez pas mon sac !", "Don't hide my bag!"),
    "wishing": ("Nous voudrions sept kilos de riz.", "We would like seven kilos of rice."),
    "needing": ("Le médecin a besoin d'une nouvelle chaise.", "The doctor needs a new chair."),
    "late": ("Il est dix heures et demie : vous devez manger.", "It is half past ten: you have to eat."),
}


def test_each_pattern_writes_its_hand_checked_sentence(written_by: WrittenBy) -> None:
    written = written_by(questions)
    assert set(CHECKED) == set(written)
    assert [name for name, pair in CHECKED.items() if pair not in written[name]] == []


@pytest.mark.parametrize(
    ("infinitive", "familiar", "polite"),
    [
        ("fermer", "ferme", "fermez"),
        ("ouvrir", "ouvre", "ouvrez"),
        ("finir", "finis", "finissez"),
        ("prendre", "prends", "prenez"),
        ("perdre", "perds", "perdez"),
        ("nettoyer", "nettoie", "nettoyez"),
    ],
)
def test_imperatives(infinitive: str, familiar: str, polite: str) -> None:
    verb = Verb(infinitive, "")
    assert (questions.imperative(verb, False), questions.imperative(verb, True)) == (familiar, polite)


def test_a_question_about_the_past() -> None:
    you = Phrase("tu", "you", 1, False)
    assert questions.ask_past(you, Verb("fermer", "close")) == ("tu as fermé", "did you close")
