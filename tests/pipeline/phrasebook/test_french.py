"""French spelling and agreement against forms written by hand."""

import pytest

from pipeline.phrasebook import french
from pipeline.phrasebook.words import Adjective, Noun

OLD, NEW, BEAUTIFUL = (Adjective(word, "", before=True) for word in ("vieux", "nouveau", "beau"))
RED = Adjective("rouge", "red")
HOTEL, WATER, FRIEND = Noun("hôtel", "hotel", False), Noun("eau", "water", True, "mass"), Noun("amie", "friend", True)
BEAN, GLOVES = Noun("haricot", "bean", False), Noun("gants", "gloves", False, "plural")
BREAD, APPLE = Noun("pain", "bread", False, "mass"), Noun("pomme", "apple", True)


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("je aime le eau de le hôtel", "j'aime l'eau de l'hôtel"),
        ("je ne ai pas vu le haricot", "je n'ai pas vu le haricot"),
        ("il va à le marché de les fermiers", "il va au marché des fermiers"),
        ("elle parle à les enfants de le médecin", "elle parle aux enfants du médecin"),
        ("à le hôpital", "à l'hôpital"),
        ("parce que elle se habille", "parce qu'elle s'habille"),
        ("si il pleut", "s'il pleut"),
        ("si elle vient", "si elle vient"),
        ("je ne le achète plus", "je ne l'achète plus"),
        ("est-ce que Anne me attend", "est-ce qu'Anne m'attend"),
        ("le frère de Émilie", "le frère d'Émilie"),
        ("il ne y a pas de œufs", "il n'y a pas d'œufs"),
        ("de huit à onze heures", "de huit à onze heures"),
        ("de onze", "de onze"),
    ],
)
def test_elision_and_contraction(words: str, written: str) -> None:
    assert french.spell(words) == written


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("cheval", "chevaux"),
        ("journal", "journaux"),
        ("gâteau", "gâteaux"),
        ("souris", "souris"),
        ("bleu", "bleus"),
        ("nouveau", "nouveaux"),
        ("carte postale", "cartes postales"),
        ("dessin animé", "dessins animés"),
        ("salle de bains", "salles de bains"),
        ("grand-mère", "grands-mères"),
        ("fils", "fils"),
    ],
)
def test_plurals(singular: str, plural: str) -> None:
    assert french.plural(singular) == plural


@pytest.mark.parametrize(
    ("masculine", "feminine"),
    [
        ("beau", "belle"),
        ("blanc", "blanche"),
        ("cher", "chère"),
        ("léger", "légère"),
        ("heureux", "heureuse"),
        ("frais", "fraîche"),
        ("gentil", "gentille"),
        ("rouge", "rouge"),
        ("fatigué", "fatiguée"),
        ("inquiet", "inquiète"),
        ("gris", "grise"),
    ],
)
def test_feminines(masculine: str, feminine: str) -> None:
    assert french.feminine(masculine) == feminine


@pytest.mark.parametrize(
    ("kind", "noun", "is_plural", "adjective", "written"),
    [
        ("un", HOTEL, False, OLD, "un vieil hôtel"),
        ("ce", HOTEL, False, None, "cet hôtel"),
        ("ce", HOTEL, False, NEW, "ce nouvel hôtel"),
        ("un", HOTEL, True, BEAUTIFUL, "de beaux hôtels"),
        ("un", APPLE, True, RED, "des pommes rouges"),
        ("un", APPLE, True, BEAUTIFUL, "de belles pommes"),
        ("un", WATER, False, None, "de l'eau"),
        ("un", BREAD, False, None, "du pain"),
        ("de", APPLE, True, None, "de pommes"),
        ("mon", FRIEND, False, None, "mon amie"),
        ("mon", FRIEND, False, OLD, "ma vieille amie"),
        ("notre", FRIEND, True, None, "nos amies"),
        ("leur", HOTEL, False, None, "leur hôtel"),
        ("ce", FRIEND, False, None, "cette amie"),
        ("le", BEAN, False, None, "le haricot"),
        ("le", GLOVES, True, RED, "les gants rouges"),
        ("trois", APPLE, True, None, "trois pommes"),
    ],
)
def test_noun_phrases(kind: str, noun: Noun, is_plural: bool, adjective: Adjective | None, written: str) -> None:
    assert french.spell(french.noun_phrase(kind, noun, is_plural, adjective)) == written
