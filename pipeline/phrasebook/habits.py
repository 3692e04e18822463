"""Patterns of what people do day by day, and of hours, months and years."""

from collections.abc import Sequence

from pipeline.phrasebook import english, lexicon
from pipeline.phrasebook.clauses import clause
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.lexicon import ACTIVITIES
from pipeline.phrasebook.patterns import pattern
from pipeline.phrasebook.phrases import Pair, noun_phrase, say
from pipeline.phrasebook.words import Expression, Verb


def hour(draw: Draw, preposition: bool = True, hours: Sequence[Expression] = lexicon.HOURS) -> Pair:
    """A time of day: à huit heures et quart -> at a quarter past eight."""
    number = draw.pick(hours)
    before = ("à ", "at ") if preposition else ("", "")
    french, clock = draw.any(
        (
            ("{} heures", "{} o'clock"),
            ("{} heures", "{} o'clock"),
            ("{} heures et quart", "a quarter past {}"),
            ("{} heures et demie", "half past {}"),
            ("{} heures moins le quart", "a quarter to {}"),
            ("{} heures dix", "ten past {}"),
        )
    )
    return Pair(before[0] + french.format(number.french), before[1] + clock.format(number.english))


@pattern
def active_often(draw: Draw) -> Pair:
    """Nous nageons souvent en été."""
    said = clause(
        draw.subject(), draw.pick(ACTIVITIES[:1] + ACTIVITIES[2:-2]), "present", adverb=draw.pick(lexicon.FREQUENCIES)
    )
    return say(said, draw.pick(lexicon.SEASONS if draw.chance(0.6) else lexicon.USUAL_TIMES[:4]), ".")


@pattern
def active_soon(draw: Draw) -> Pair:
    """Claire ne travaillera pas demain matin."""
    said = clause(draw.subject(), draw.pick(ACTIVITIES[:-2]), "future", draw.any(("", "pas")))
    return say(said, draw.pick(lexicon.FUTURE_TIMES), ".")


@pattern
def born_in(draw: Draw) -> Pair:
    """L'anniversaire de Marie est en mars."""
    who = draw.someone(plural=0)
    month = draw.pick(lexicon.MONTHS)
    day = Pair(f"l'anniversaire de {who.french}", f"{english.genitive(who.english, False)} birthday")
    return say(day, Pair(f"est en {month.french}", f"is in {month.english}"), ".")


@pattern
def playing(draw: Draw) -> Pair:
    """Nous jouons au tennis le samedi."""
    music = draw.chance(0.5)
    noun = draw.pick(lexicon.INSTRUMENTS if music else lexicon.SPORTS)
    thing = noun_phrase("the", noun, False)
    played = Pair(f"de {thing.french}", thing.english) if music else Pair(f"à {thing.french}", noun.english)
    day = draw.pick(lexicon.DAYS)
    when = Pair(f"le {day.french}", f"on {day.english}s") if draw.chance(0.7) else draw.pick(lexicon.USUAL_TIMES)
    return say(clause(draw.subject(), lexicon.PLAY, "present"), played, when, ".")


@pattern
def learning(draw: Draw) -> Pair:
    """Julie apprend l'italien depuis trois ans."""
    subject, language = draw.subject(), draw.pick(lexicon.LANGUAGES)
    learns = clause(subject, lexicon.LEARN, "present").french
    has = "has" if subject.person == 2 else "have"
    said = Pair(f"{learns} le {language.french}", f"{subject.english} {has} been learning {language.english}")
    return say(said, since(draw), ".")


def since(draw: Draw) -> Pair:
    """Depuis trois ans -> for three years."""
    number = draw.pick(lexicon.NUMBERS)
    unit = draw.any((Pair("ans", "years"), Pair("mois", "months"), Pair("semaines", "weeks")))
    return Pair(f"depuis {number.french} {unit.french}", f"for {number.english} {unit.english}")


def hour_for(draw: Draw, verb: Verb) -> Pair:
    """The hour of a routine: early to get up, late to go to bed."""
    if verb.english == "go to bed":
        return hour(draw, hours=lexicon.NUMBERS[6:10])
    return hour(draw, hours=lexicon.NUMBERS[3:9] if verb in lexicon.ROUTINES[:5] else lexicon.HOURS)


@pattern
def routine(draw: Draw) -> Pair:
    """Je me lève à sept heures tous les jours."""
    verb = draw.pick(lexicon.ROUTINES)
    return say(clause(draw.subject(), verb, "present"), hour_for(draw, verb), draw.pick(lexicon.USUAL_TIMES[2:5]), ".")


@pattern
def routine_past(draw: Draw) -> Pair:
    """Lundi, ma tante s'est couchée à neuf heures et demie."""
    day = draw.pick(lexicon.DAYS)
    when = Pair(f"{day.french} dernier", f"last {day.english}")
    verb = draw.pick(lexicon.ROUTINES)
    return say(when, ",", clause(draw.subject(), verb, "past"), hour_for(draw, verb), ".")


@pattern
def was_doing(draw: Draw) -> Pair:
    """Marie lisait un livre quand nous sommes arrivés."""
    frame = draw.any((*lexicon.CONSUMED, *lexicon.OWNED, lexicon.SHOWS, lexicon.MUSIC, lexicon.DRAWABLE))
    subject = draw.subject()
    if draw.chance(0.3):
        was = clause(subject, draw.pick(ACTIVITIES), "past progressive")
    else:
        verb = draw.pick(frame.lasting)
        thing = draw.item(frame, "bare" if verb is lexicon.WEAR else "a", adjective=0.2)
        was = say(clause(subject, verb, "past progressive"), thing)
    other = draw.speaker() if subject.person in (2, 5) else draw.name()
    return say(was, Pair("quand", "when"), clause(other, draw.pick(lexicon.ARRIVALS), "past"), ".")
