"""Patterns that ask, order and wish."""

from pipeline.phrasebook import conjugation, english, lexicon
from pipeline.phrasebook.clauses import clause
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.habits import hour
from pipeline.phrasebook.lexicon import CLOTHES, FURNITURE, MACHINES, OWNED, THINGS
from pipeline.phrasebook.patterns import pattern
from pipeline.phrasebook.phrases import Pair, Phrase, noun_phrase, say, words
from pipeline.phrasebook.words import Verb

ASK = "est-ce que"
PLEASE = (Pair("s'il te plaît", "please"), Pair("s'il vous plaît", "please"))


def ask_past(subject: Phrase, verb: Verb) -> Pair:
    """Tu as fermé -> did you close."""
    return Pair(clause(subject, verb, "past").french, f"did {subject.english} {verb.english}")


@pattern
def asking_whether(draw: Draw) -> Pair:
    """Est-ce que tu as trouvé les clés ?"""
    frame = draw.any((*OWNED, lexicon.SHUT))
    done = ask_past(draw.subject(), draw.pick(frame.sudden))
    return say(Pair(ASK, ""), done, draw.item(frame, "the"), "?")


@pattern
def asking_where(draw: Draw) -> Pair:
    """Où avez-vous acheté cette montre ?"""
    frame = draw.any((CLOTHES, THINGS, FURNITURE, MACHINES))
    person, inverted = draw.any(((1, "as-tu"), (4, "avez-vous"), (2, "a-t-il"), (2, "a-t-elle"), (5, "ont-ils")))
    subject = Phrase("", "", person, inverted.endswith("elle")).pronoun
    verb = draw.pick((lexicon.BUY, lexicon.FIND, lexicon.HIDE, lexicon.LOSE))
    past = conjugation.participle(verb.infinitive)
    return say(
        Pair(f"où {inverted} {past}", f"where did {subject.english} {verb.english}"), draw.item(frame, "this"), "?"
    )


@pattern
def asking_why(draw: Draw) -> Pair:
    """Pourquoi est-ce que ta sœur est triste ?"""
    subject, adjective = draw.subject(), draw.pick(lexicon.MOODS)
    past = draw.chance(0.4)
    be = (conjugation.imparfait if past else conjugation.present)("être", subject.person)
    copula = (english.was if past else english.be)(subject.person)
    time = draw.any((Pair("hier", "yesterday"), Pair("ce matin", "this morning"))) if past else draw.any(NOWADAYS)
    asked = words("pourquoi", ASK, subject.french, be, subject.adjective(adjective).french)
    return say(Pair(asked, f"why {copula} {subject.english} {adjective.english}"), time, "?")


NOWADAYS = (Pair("", ""), Pair("aujourd'hui", "today"))


CHOICES = (*(frame.nouns for frame in (*lexicon.CONSUMED, CLOTHES)), lexicon.ANIMALS)


@pattern
def asking_choice(draw: Draw) -> Pair:
    """Préférez-vous le thé ou le café ?"""
    nouns = draw.any(CHOICES)
    one = draw.pick(nouns)
    other = draw.another(nouns, one.english)
    ask = draw.any((Pair("préfères-tu", "do you prefer"), Pair("préférez-vous", "do you prefer")))
    first, second = (noun_phrase("general", noun, noun.number != "mass") for noun in (one, other))
    return say(ask, first, Pair("ou", "or"), second, "?")


@pattern
def asking_colour(draw: Draw) -> Pair:
    """Quelle robe préfères-tu, la rouge ou la bleue ?"""
    frame = draw.any((CLOTHES, THINGS, MACHINES, FURNITURE))
    noun = draw.pick(frame.nouns)
    is_plural = draw.plural(noun)
    one = draw.pick(lexicon.COLOURS)
    other = draw.another(lexicon.COLOURS, one.english)
    bare = noun_phrase(Pair("", ""), noun, is_plural)
    which = ("quels", "quelles") if is_plural else ("quel", "quelle")
    article = "les" if is_plural else "la" if noun.feminine else "le"
    ask = draw.any((Pair("préfères-tu", "do you prefer"), Pair("voulez-vous", "do you want")))
    ones = "ones" if is_plural else "one"
    colours = [Pair(f"{article} {bare.adjective(c).french}", f"the {c.english} {ones}") for c in (one, other)]
    head = Pair(f"{which[noun.feminine]} {bare.french.strip()}", f"which {bare.english}")
    return say(head, ask, ",", colours[0], Pair("ou", "or"), colours[1], "?")


@pattern
def asking_when(draw: Draw) -> Pair:
    """À quelle heure est-ce que le train part ?"""
    subject, verb = draw.subject(), draw.pick(lexicon.ROUTINES)
    when = draw.pick(lexicon.USUAL_TIMES[2:5])
    does = english.present("do", subject.person)
    asked = Pair(clause(subject, verb, "present").french, f"{does} {subject.english} {verb.english}")
    return say(Pair(f"à quelle heure {ASK}", "what time"), asked, when, "?")


@pattern
def asking_who(draw: Draw) -> Pair:
    """Qui a mangé le gâteau ?"""
    frame = draw.any((*lexicon.FRAMES, lexicon.SHUT))
    who = Phrase("qui", "who", 2, False)
    thing = draw.item(frame, draw.any(("the", "this")))
    return say(clause(who, draw.pick(frame.sudden), "past"), thing, "?")


@pattern
def asking_number(draw: Draw) -> Pair:
    """Combien de livres y a-t-il dans la cuisine ?"""
    noun = draw.pick(draw.any((THINGS, FURNITURE)).nouns)
    things = noun_phrase(Pair("de", ""), noun, True)
    room = noun_phrase("the", draw.pick(lexicon.ROOMS), False)
    return say(Pair("combien", "how many"), things, Pair("y a-t-il dans", "are there in"), room, "?")


@pattern
def asking_nearby(draw: Draw) -> Pair:
    """Est-ce qu'il y a une pharmacie près de la gare ?"""
    one = draw.pick(lexicon.TOWN)
    near = Pair("près d'ici", "near here")
    if draw.chance(0.9):
        other = noun_phrase("the", draw.another(lexicon.TOWN, one.english), False)
        near = Pair(f"près de {other.french}", f"near {other.english}")
    adjective = draw.pick((lexicon.BIG, lexicon.GOOD)) if draw.chance(0.2) else None
    return say(Pair(f"{ASK} il y a", "is there"), noun_phrase("a", one, False, adjective), near, "?")


@pattern
def asking_ability(draw: Draw) -> Pair:
    """Peux-tu réparer ma chaise demain ?"""
    frame = draw.any((FURNITURE, CLOTHES, lexicon.SHUT))
    ask = draw.any((Pair("peux-tu", "can you"), Pair("pouvez-vous", "can you")))
    owner = draw.any((Pair("mon", "my"), Pair("notre", "our")))
    thing = draw.item(frame, owner, adjective=0.2)
    verb = draw.pick(
        (lexicon.BRING, lexicon.KEEP, lexicon.WASH) if frame is CLOTHES else (lexicon.REPAIR, lexicon.PAINT)
    )
    when = draw.pick(lexicon.FUTURE_TIMES[:3])
    return say(ask, verb, thing, when, "?")


def imperative(verb: Verb, polite: bool) -> str:
    """Ferme, ouvre, finis; fermez, ouvrez, finissez."""
    form = conjugation.present(verb.infinitive, 4 if polite else 1)
    return form.removesuffix("s") if form.endswith("es") else form


@pattern
def ordering(draw: Draw) -> Pair:
    """Ouvre la fenêtre, s'il te plaît."""
    polite = draw.chance(0.5)
    verb, nouns = draw.any(COMMANDS)
    noun = draw.pick(nouns)
    owner = draw.any(("the", "this"))
    thing = noun_phrase(owner, noun, draw.plural(noun, 0.3) and nouns is not lexicon.ROOMS)
    return say(Pair(imperative(verb, polite), verb.english), thing, ",", PLEASE[polite], ".")


COMMANDS = (
    (lexicon.OPEN, lexicon.SHUT.nouns),
    (lexicon.CLOSE, lexicon.SHUT.nouns),
    (lexicon.CLEAN, lexicon.ROOMS),
    (lexicon.REPAIR, MACHINES.nouns),
    (lexicon.WASH, CLOTHES.nouns),
    (lexicon.BRING, THINGS.nouns),
    (lexicon.FINISH, lexicon.TEXTS.nouns),
    (lexicon.TAKE, THINGS.nouns),
)


@pattern
def warning(draw: Draw) -> Pair:
    """N'oublie pas tes clés, s'il te plaît !"""
    polite = draw.chance(0.5)
    verb = draw.pick((lexicon.FORGET, lexicon.LOSE, lexicon.BREAK, lexicon.SELL, lexicon.HIDE))
    owner = Pair("votre" if polite else "ton", "your") if draw.chance(0.6) else Pair("mon", "my")
    frame = MACHINES if verb is lexicon.BREAK else draw.any((CLOTHES, THINGS))
    return say(
        Pair(f"ne {imperative(verb, polite)} pas", f"don't {verb.english}"),
        draw.item(frame, owner, adjective=0.25),
        "!",
    )


@pattern
def wishing(draw: Draw) -> Pair:
    """Je voudrais deux kilos de pommes, s'il vous plaît."""
    amount, nouns = draw.any(AMOUNTS)
    noun = draw.pick(nouns)
    count = draw.pick(lexicon.NUMBERS) if draw.chance(0.7) else None
    portion = noun_phrase(count or "a", amount, count is not None)
    content = noun_phrase(Pair("de", ""), noun, noun.number == "both")
    who = draw.any((Pair("je voudrais", "I would like"), Pair("nous voudrions", "we would like")))
    please = (",", PLEASE[1]) if draw.chance(0.5) else ()
    return say(who, portion, Pair("", "of"), content, *please, ".")


KILO, CUP, GLASS, BOTTLE = lexicon.nouns("kilo m kilo", "tasse f cup", "verre m glass", "bouteille f bottle")
AMOUNTS = (
    (KILO, lexicon.FRUIT.nouns[:5] + lexicon.FRUIT.nouns[6:]),
    (KILO, lexicon.STAPLES.nouns[1:5]),
    (CUP, lexicon.DRINKS.nouns[1:3]),
    (GLASS, lexicon.DRINKS.nouns[:1] + lexicon.DRINKS.nouns[3:]),
    (BOTTLE, lexicon.DRINKS.nouns[:1] + lexicon.DRINKS.nouns[3:]),
)


@pattern
def needing(draw: Draw) -> Pair:
    """Ma tante a besoin d'un nouveau manteau."""
    subject = draw.subject()
    thing = draw.item(draw.any((CLOTHES, THINGS, MACHINES, FURNITURE)), "bare")
    negation = draw.chance(0.25)
    has = words(
        subject.french,
        "ne" if negation else "",
        conjugation.present("avoir", subject.person),
        "pas" if negation else "",
    )
    does = f"{english.present('do', subject.person)}n't need" if negation else english.present("need", subject.person)
    needed = thing.french.removeprefix("des ").removeprefix("de ")
    return say(Pair(f"{has} besoin de {needed}", f"{subject.english} {does} {thing.english}"), ".")


@pattern
def late(draw: Draw) -> Pair:
    """Il est huit heures et quart : Paul doit partir."""
    subject = draw.subject()
    verb = draw.pick(lexicon.LEAVINGS)
    must = clause(subject, lexicon.MUST, "present")
    return say(Pair("il est", "it is"), hour(draw, False), ":", must, Pair(verb.french, f"to {verb.english}"), ".")
