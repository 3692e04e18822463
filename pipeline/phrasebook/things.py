"""Patterns of what things are like, what they cost and whose they are."""

from pipeline.phrasebook import english, lexicon
from pipeline.phrasebook.clauses import clause, state
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.lexicon import CLOTHES, FURNITURE, MACHINES, TEXTS, THINGS
from pipeline.phrasebook.patterns import pattern
from pipeline.phrasebook.people import compare
from pipeline.phrasebook.phrases import Pair, Phrase, noun_phrase, say
from pipeline.phrasebook.words import Adjective, Noun

# What can be said of things with `is`: (nouns, adjectives).
QUALITIES: tuple[tuple[tuple[Noun, ...], tuple[Adjective, ...]], ...] = (
    (lexicon.FRUIT.nouns, (lexicon.GOOD, lexicon.FRESH, lexicon.SMALL, lexicon.EXPENSIVE)),
    (lexicon.DISHES.nouns, (lexicon.GOOD, lexicon.COLD, lexicon.EXPENSIVE)),
    (lexicon.STAPLES.nouns + lexicon.DRINKS.nouns, (lexicon.GOOD, lexicon.COLD, lexicon.EXPENSIVE)),
    (CLOTHES.nouns, (lexicon.EXPENSIVE, lexicon.DIRTY, lexicon.LIGHT, lexicon.COMFORTABLE, lexicon.PRACTICAL)),
    (THINGS.nouns[:12], (lexicon.HEAVY, lexicon.EXPENSIVE, lexicon.SMALL, lexicon.DIRTY, lexicon.USEFUL)),
    (TEXTS.nouns + lexicon.SHOWS.nouns, (lexicon.LONG, lexicon.INTERESTING, lexicon.STRANGE)),
    (MACHINES.nouns, (lexicon.HEAVY, lexicon.EXPENSIVE, lexicon.USEFUL, lexicon.MODERN, lexicon.SOLID)),
    (FURNITURE.nouns[:4], (lexicon.HEAVY, lexicon.EXPENSIVE, lexicon.COMFORTABLE)),
    (FURNITURE.nouns[4:], (lexicon.HEAVY, lexicon.EXPENSIVE, lexicon.SOLID, lexicon.LIGHT)),
    (lexicon.SIGHTS, (lexicon.QUIET, lexicon.FAMOUS, lexicon.MODERN, lexicon.SMALL)),
)
POSITIVE = (lexicon.GOOD, lexicon.FAMOUS, lexicon.USEFUL)  # hardly ever too much


def quality(draw: Draw, kind: str) -> tuple[Phrase, Adjective]:
    """A thing and what may be said of it."""
    nouns, adjectives = draw.any(QUALITIES)
    noun = draw.pick(nouns)
    return noun_phrase(kind, noun, draw.plural(noun)), draw.pick(adjectives)


@pattern
def thing_too(draw: Draw) -> Pair:
    """Cette valise est trop lourde."""
    thing, adjective = quality(draw, "this")
    degree = draw.pick(lexicon.DEGREES if adjective in POSITIVE else (*lexicon.DEGREES, lexicon.TOO, lexicon.TOO))
    return say(state(thing, adjective, degree=degree), ".")


@pattern
def thing_was_not(draw: Draw) -> Pair:
    """Le film n'était pas très long."""
    thing, adjective = quality(draw, "the")
    degree = draw.pick(lexicon.DEGREES[:1]) if draw.chance(0.6) else None
    return say(state(thing, adjective, negation=True, degree=degree, past=True), ".")


@pattern
def thing_compared(draw: Draw) -> Pair:
    """La robe est plus chère que la jupe."""
    nouns, adjectives = draw.any(QUALITIES)
    one = draw.pick(nouns)
    other = draw.another(nouns, one.english)
    first, second = (noun_phrase(draw.any(("the", "this")), noun, draw.plural(noun, 0.2)) for noun in (one, other))
    return compare(draw, first, draw.pick([word for word in adjectives if word is not lexicon.GOOD]), second)


@pattern
def thinking(draw: Draw) -> Pair:
    """Marie pense que ce film est trop long."""
    thing, adjective = quality(draw, "this")
    verb = draw.pick((lexicon.THINK, lexicon.SAY, lexicon.BELIEVE))
    degree = draw.pick(lexicon.DEGREES) if draw.chance(0.5) else None
    that = Pair("que", "that")
    return say(clause(draw.subject(), verb, "present"), that, state(thing, adjective, degree=degree), ".")


@pattern
def thing_bought(draw: Draw) -> Pair:
    """La montre que j'ai achetée hier est très chère."""
    nouns, adjectives = draw.any(QUALITIES[3:5] + QUALITIES[6:9])
    noun = draw.pick(nouns)
    thing = noun_phrase("the", noun, draw.plural(noun))
    verb = draw.pick((lexicon.BUY, lexicon.FIND, lexicon.CHOOSE))
    buys = clause(draw.subject(), verb, "past", agreement=thing)
    when = draw.pick(lexicon.PAST_TIMES)
    bought = say(thing, Pair("que", "that"), buys, when)
    whole = Phrase(bought.french, bought.english, thing.person, thing.feminine)
    degree = draw.pick(lexicon.DEGREES) if draw.chance(0.5) else None
    return say(state(whole, draw.pick(adjectives), degree=degree), ".")


@pattern
def costing(draw: Draw) -> Pair:
    """Ce manteau coûte cinquante euros."""
    frame = draw.any((CLOTHES, THINGS, FURNITURE, MACHINES))
    number = draw.pick(lexicon.LARGE_NUMBERS)
    price = Pair(f"{number.french} euros", f"{number.english} euros")
    return say(clause(draw.item(frame, "this"), lexicon.COST, "present"), price, ".")


@pattern
def belonging(draw: Draw) -> Pair:
    """C'est la voiture du médecin."""
    thing = draw.item(draw.any((CLOTHES, THINGS, MACHINES, FURNITURE)), "the", adjective=0.2)
    owner = draw.someone()
    these = Pair("ce sont", "these are") if thing.plural else Pair("c'est", "this is")
    owned = english.genitive(owner.english, owner.plural) + " " + thing.english.removeprefix("the ")
    return say(these, Pair(f"{thing.french} de {owner.french}", owned), ".")


@pattern
def animals(draw: Draw) -> Pair:
    """Mes voisins ont deux chats noirs."""
    noun = draw.pick(lexicon.ANIMALS)
    colour = draw.pick((*lexicon.COLOURS[3:5], lexicon.OLD, lexicon.BIG, lexicon.SMALL)) if draw.chance(0.7) else None
    if draw.chance(0.5):
        kept = noun_phrase(draw.pick(lexicon.NUMBERS), noun, True, colour)
    else:
        kept = noun_phrase("a", noun, False, colour)
    return say(clause(draw.subject(), lexicon.HAVE, "present"), kept, ".")
