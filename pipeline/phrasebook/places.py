"""Patterns of where things and people are, and where they go."""

from collections.abc import Sequence

from pipeline.phrasebook import conjugation, english, lexicon
from pipeline.phrasebook.clauses import clause
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.habits import hour, since
from pipeline.phrasebook.lexicon import CITIES, COUNTRIES, GOALS, ROOMS, SIGHTS, TOWN
from pipeline.phrasebook.patterns import pattern
from pipeline.phrasebook.phrases import Pair, Phrase, noun_phrase, say
from pipeline.phrasebook.words import Name, Noun

INDOORS = (lexicon.FURNITURE, lexicon.THINGS)


def place(draw: Draw, preposition: str, nouns: Sequence[Noun] = GOALS) -> Pair:
    """À la gare -> to (or at) the train station."""
    noun = draw.pick(nouns)
    phrase = noun_phrase("the", noun, False)
    return Pair(f"à {phrase.french}", f"{preposition} {phrase.english}")


def country(draw: Draw) -> tuple[Name, str, str]:
    """A country, and how French says `in or to it` and `from it`: en Italie, d'Italie; au Japon, du Japon."""
    name = draw.pick(COUNTRIES)
    if name.feminine:
        return name, f"en {name.french}", f"de {name.french}"
    return name, f"à le {name.french}", f"de le {name.french}"


def city(draw: Draw) -> tuple[Name, str, str]:
    """A city, and how French says `in or to it` and `from it`."""
    name = draw.pick(CITIES)
    return name, f"à {name.french}", f"de {name.french}"


def company(draw: Draw, subject: Phrase) -> Pair:
    """Avec son frère -> with his brother."""
    kin = noun_phrase(subject.possessive, draw.pick(lexicon.KIN), False)
    return Pair(f"avec {kin.french}", f"with {kin.english}")


def spot(draw: Draw, where: Phrase) -> Pair:
    """Sous la table -> under the table."""
    preposition = draw.pick(lexicon.WHEREABOUTS)
    return Pair(f"{preposition.french} {where.french}", f"{preposition.english} {where.english}")


@pattern
def going_weekly(draw: Draw) -> Pair:
    """Nous allons au marché le samedi."""
    day = draw.pick(lexicon.DAYS)
    when = Pair(f"le {day.french}", f"on {day.english}s") if draw.chance(0.5) else hour(draw)
    return say(clause(draw.subject(), lexicon.GO, "present"), place(draw, "to"), when, ".")


@pattern
def went(draw: Draw) -> Pair:
    """Hier, elle est allée au musée avec sa tante."""
    subject = draw.subject()
    said = clause(subject, draw.pick((lexicon.GO, lexicon.RETURN)), "past")
    return say(draw.pick(lexicon.PAST_TIMES), ",", said, place(draw, "to"), company(draw, subject), ".")


@pattern
def stayed(draw: Draw) -> Pair:
    """Antoine n'est pas resté longtemps à l'hôpital."""
    negation = draw.any(("", "pas"))
    said = clause(draw.subject(), lexicon.STAY, "past", negation)
    long, at_length = ("long", "") if negation else ("", "for a long time")
    return say(said, Pair("longtemps", long), place(draw, "at"), Pair("", at_length), ".")


@pattern
def will_travel(draw: Draw) -> Pair:
    """En juillet, nous voyagerons en Italie avec nos cousins."""
    subject = draw.subject()
    month = draw.pick(lexicon.MONTHS)
    when = Pair(f"en {month.french}", f"in {month.english}") if draw.chance(0.6) else draw.pick(lexicon.SEASONS)
    name, there, _ = country(draw) if draw.chance(0.5) else city(draw)
    travels = clause(subject, lexicon.TRAVEL, "future")
    return say(when, ",", travels, Pair(there, f"to {name.english}"), company(draw, subject), ".")


@pattern
def living(draw: Draw) -> Pair:
    """Mon oncle habite à Lyon depuis trois ans."""
    subject = draw.subject()
    lives = clause(subject, lexicon.LIVE, "present").french
    has = f"{subject.english} {english.present('have', subject.person)} lived"
    name, there, _ = country(draw) if draw.chance(0.5) else city(draw)
    return say(Pair(lives, has), Pair(there, f"in {name.english}"), since(draw), ".")


@pattern
def coming_from(draw: Draw) -> Pair:
    """Cette actrice vient du Japon."""
    who = noun_phrase("this", draw.pick(lexicon.PEOPLE), draw.chance(0.3)) if draw.chance(0.6) else draw.someone()
    name, _, from_there = country(draw) if draw.chance(0.6) else city(draw)
    return say(clause(who, lexicon.COME, "present"), Pair(from_there, f"from {name.english}"), ".")


@pattern
def never_visited(draw: Draw) -> Pair:
    """Je n'ai jamais visité l'Espagne."""
    said = clause(draw.subject(), lexicon.VISIT, "perfect", "jamais")
    if draw.chance(0.3):
        return say(said, draw.pick(CITIES), ".")
    name = draw.pick(COUNTRIES)
    return say(said, Pair(f"{'la' if name.feminine else 'le'} {name.french}", name.english), ".")


@pattern
def thing_somewhere(draw: Draw) -> Pair:
    """La clé noire est sous la chaise."""
    thing = draw.item(
        draw.any((lexicon.THINGS, lexicon.CLOTHES)),
        draw.any((Pair("le", "the"), *draw.owners)),
    )
    be = Pair(conjugation.present("être", thing.person), english.be(thing.person))
    return say(thing, be, spot(draw, noun_phrase("the", draw.pick(lexicon.FURNITURE.nouns), False)), ".")


@pattern
def there_are(draw: Draw) -> Pair:
    """Il y a trois chaises dans la cuisine."""
    noun = draw.pick(draw.any(INDOORS).nouns)
    things = noun_phrase(draw.pick(lexicon.NUMBERS), noun, True)
    room = noun_phrase("the", draw.pick(ROOMS), False)
    no = draw.chance(0.2)
    if no:
        things = noun_phrase(Pair("de", ""), noun, True)
    there = Pair("il n'y a pas", "there aren't any") if no else Pair("il y a", "there are")
    return say(there, things, Pair("dans", "in"), room, ".")


@pattern
def there_was_once(draw: Draw) -> Pair:
    """Autrefois, il y avait une boulangerie à côté de la gare."""
    one = draw.pick(TOWN)
    other = noun_phrase("the", draw.another(TOWN, one.english), False)
    preposition = draw.pick(lexicon.WHEREABOUTS[2:])
    adjective = draw.pick((lexicon.BIG, lexicon.SMALL, lexicon.OLD, lexicon.QUIET)) if draw.chance(0.3) else None
    where = Pair(f"{preposition.french} {other.french}", f"{preposition.english} {other.english}")
    return say(Pair("avant, il y avait", "there used to be"), noun_phrase("a", one, False, adjective), where, ".")


@pattern
def place_closed(draw: Draw) -> Pair:
    """Le musée est fermé le lundi."""
    building = noun_phrase("the", draw.pick(GOALS), False)
    day = draw.pick(lexicon.DAYS)
    closed = draw.any((("fermé", "closed"), ("ouvert", "open")))
    agreed = closed[0] + ("e" if building.feminine else "")
    is_now = Pair(f"est {agreed} le {day.french}", f"is {closed[1]} on {day.english}s")
    was = Pair(f"était {agreed} {day.french} dernier", f"was {closed[1]} last {day.english}")
    return say(building, draw.any((is_now, was)), ".")


@pattern
def most(draw: Draw) -> Pair:
    """C'est le plus beau jardin de la ville."""
    noun = draw.pick(SIGHTS)
    adjective = draw.pick((lexicon.BIG, lexicon.SMALL, lexicon.OLD, lexicon.BEAUTIFUL, lexicon.PRETTY))
    phrase = noun_phrase(Pair("le", "the"), noun, False, adjective).french.split(" ", 1)
    of = draw.any((Pair("de la ville", "in the city"), Pair("de la région", "in the region")))
    if draw.chance(0.4):
        name, _, _ = country(draw)
        of = Pair(f"de {'' if name.feminine else 'le '}{name.french}", f"in {name.english}")
    agreed = f"{phrase[0]} plus {phrase[1]}"
    return say(Pair(f"c'est {agreed}", f"it is the {english.superlative(adjective.english)} {noun.english}"), of, ".")


@pattern
def vehicle_leaving(draw: Draw) -> Pair:
    """Le train pour Lyon part à huit heures et quart."""
    vehicle = noun_phrase("the", draw.pick(lexicon.VEHICLES), False)
    city = draw.pick(CITIES)
    leaves = draw.any((Pair("part", "leaves"), Pair("partira", "will leave"), Pair("est parti", "left")))
    return say(vehicle, Pair(f"pour {city.french}", f"to {city.english}"), leaves, hour(draw), ".")


@pattern
def if_weather(draw: Draw) -> Pair:
    """S'il pleut demain, nous resterons à l'hôtel."""
    fine = draw.chance(0.5)
    weather = draw.pick(lexicon.GOOD_WEATHER if fine else lexicon.BAD_WEATHER)
    stays = clause(draw.subject(), draw.pick((lexicon.STAY, lexicon.GO)), "future")
    where = place(draw, "at" if " stay" in stays.english else "to", lexicon.OUTDOORS if fine else lexicon.INDOORS)
    when = draw.pick(lexicon.FUTURE_TIMES[:2])
    return say(Pair(f"si {weather.french}", f"if {weather.english}"), when, ",", stays, where, ".")


@pattern
def met_at(draw: Draw) -> Pair:
    """La semaine dernière, j'ai rencontré ton oncle à la plage."""
    subject, who = draw.speaker(), draw.someone()
    said = clause(subject, draw.pick((*lexicon.MEETINGS[1:2], lexicon.SEE, *lexicon.MEETINGS[3:6])), "past")
    return say(said, who, place(draw, "at"), draw.pick(lexicon.PAST_TIMES), ".")


@pattern
def waiting(draw: Draw) -> Pair:
    """Le médecin vous attendra devant la pharmacie à midi."""
    waits = draw.any((Pair("me attendra", "will wait for me"), Pair("nous attendra", "will wait for us")))
    building = noun_phrase("the", draw.pick(TOWN), False)
    preposition = draw.any((lexicon.WHEREABOUTS[2], lexicon.WHEREABOUTS[3]))
    where = Pair(f"{preposition.french} {building.french}", f"{preposition.english} {building.english}")
    return say(draw.someone(plural=0), waits, where, hour(draw), ".")
