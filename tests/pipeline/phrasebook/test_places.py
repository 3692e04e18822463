"""Where things and people are and go: a sentence of each pattern, and the prepositions of countries."""

from collections.abc import Callable
from random import Random
from types import ModuleType

from pipeline.phrasebook import french, places
from pipeline.phrasebook.draw import Draw

WrittenBy = Callable[[ModuleType], dict[str, set[tuple[str, str]]]]

# One of each pattern, read and found right in both languages.
CHECKED = {
    "going_weekly": ("Sophie va à la boulangerie à deux heures.", "Sophie goes to the bakery at two o'clock."),
    "went": (
        "La semaine dernière, tu es retourné au musée avec ta mère.",
        "Last week, you returned to the museum with your mother.",
    ),
    "stayed": ("Notre voisine n'est pas restée longtemps au théâtre.", "Our neighbor didn't stay long at the theater."),
    "will_travel": (
        "En hiver, votre grand-mère voyagera au Japon avec son ami.",
        "In the winter, your grandmother will travel to Japan with her friend.",
    ),
    "living": ("J'habite à Berlin depuis dix ans.", "I have lived in Berlin for ten years."),
    "coming_from": ("Cette fille vient de Rome.", "This girl comes from Rome."),
    "never_visited": ("Claire n'a jamais visité le Canada.", "Claire has never visited Canada."),
    "thing_somewhere": ("L'assiette est sur la table.", "The plate is on the table."),
    "there_are": ("Il y a neuf tables dans le garage.", "There are nine tables in the garage."),
    "there_was_once": (
        "Avant, il y avait un hôtel à côté de la pharmacie.",
        "There used to be a hotel next to the pharmacy.",
    ),
    "place_closed": ("La pharmacie était ouverte jeudi dernier.", "The pharmacy was open last Thursday."),
    "most": ("C'est la plus vieille tour de la ville.", "It is the oldest tower in the city."),
    "vehicle_leaving": (
        "Le vol pour Berlin part à quatre heures dix.",
        "The flight to Berlin leaves at ten past four.",
    ),
    "if_weather": (
        "S'il pleut demain matin, il ira à l'hôtel.",
        "If it rains tomorrow morning, he will go to the hotel.",
    ),
    "met_at": (
        "Nous avons attendu les hommes à la banque la semaine dernière.",
        "We waited for the men at the bank last week.",
    ),
    "waiting": (
        "Louis m'attendra devant la bibliothèque à deux heures et demie.",
        "Louis will wait for me in front of the library at half past two.",
    ),
}


def test_each_pattern_writes_its_hand_checked_sentence(written_by: WrittenBy) -> None:
    written = written_by(places)
    assert set(CHECKED) == set(written)
    assert [name for name, pair in CHECKED.items() if pair not in written[name]] == []


def test_countries_and_cities_take_their_prepositions() -> None:
    draws = [Draw(Random(seed)) for seed in range(200)]
    named = [place(draw) for draw in draws for place in (places.country, places.city)]
    said = {name.french: (french.spell(there), french.spell(from_there)) for name, there, from_there in named}
    assert said["Italie"] == ("en Italie", "d'Italie")
    assert said["France"] == ("en France", "de France")
    assert said["Japon"] == ("au Japon", "du Japon")
    assert said["Athènes"] == ("à Athènes", "d'Athènes")
    assert len(said) == 18


def test_company_belongs_to_the_subject() -> None:
    draw = Draw(Random(0))
    said = {places.company(draw, draw.name()) for _ in range(300)}
    assert ("avec son frère", "with her brother") in said
    assert ("avec sa sœur", "with his sister") in said
    assert ("avec son amie", "with his friend") in {(french.spell(pair.french), pair.english) for pair in said}
