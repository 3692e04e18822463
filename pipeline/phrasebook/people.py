"""Patterns of what people are, feel, know and can do."""

from pipeline.phrasebook import conjugation, english, lexicon
from pipeline.phrasebook.clauses import clause, state
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.lexicon import ACTIVITIES, CHARACTERS, MOODS
from pipeline.phrasebook.patterns import pattern
from pipeline.phrasebook.phrases import Pair, Phrase, noun_phrase, say, words
from pipeline.phrasebook.words import Adjective, Expression, Noun

BAD_MOODS = tuple(mood for mood in MOODS if mood.english in ("tired", "sad", "sick", "worried", "nervous"))
GOOD_MOODS = tuple(mood for mood in MOODS if mood.english in ("happy", "proud"))
JOYFUL = tuple(verb for verb in ACTIVITIES if verb.english in ("laugh", "sing", "dance"))
TODAY = (Pair("", ""), Pair("aujourd'hui", "today"), Pair("ce soir", "tonight"), Pair("maintenant", "now"))
BECAUSE = Pair("parce que", "because")
BUT = Pair("mais", "but")


def have(subject: Phrase, negation: bool = False) -> str:
    """French subject and the present of avoir."""
    form = conjugation.present("avoir", subject.person)
    return words(subject.french, "ne" if negation else "", form, "pas" if negation else "")


@pattern
def being(draw: Draw) -> Pair:
    """Ma sœur est très fatiguée ce soir."""
    said = state(draw.subject(), draw.pick(MOODS), degree=draw.pick(lexicon.DEGREES) if draw.chance(0.6) else None)
    return say(said, draw.any(TODAY), ".")


@pattern
def being_but_not(draw: Draw) -> Pair:
    """Le boulanger est gentil, mais il n'est pas patient."""
    subject, one = draw.subject(), draw.pick(CHARACTERS)
    other = draw.another(CHARACTERS, one.english)
    degree = draw.pick(lexicon.DEGREES) if draw.chance(0.3) else None
    return say(state(subject, one, degree=degree), ",", BUT, state(subject.pronoun, other, negation=True), ".")


@pattern
def not_doing_because(draw: Draw) -> Pair:
    """Paul ne travaille pas parce qu'il est malade."""
    subject = draw.subject()
    said = clause(subject, draw.pick(ACTIVITIES[:-2]), "progressive", "pas")
    return say(said, BECAUSE, state(subject.pronoun, draw.pick(BAD_MOODS)), ".")


@pattern
def doing_because(draw: Draw) -> Pair:
    """Anne pleure parce qu'elle est triste."""
    subject = draw.subject()
    verbs, moods = draw.any(((ACTIVITIES[-2:-1], BAD_MOODS), (JOYFUL, GOOD_MOODS)))
    said = clause(subject, draw.pick(verbs), "progressive")
    degree = draw.pick(lexicon.DEGREES[:2]) if draw.chance(0.5) else None
    return say(said, BECAUSE, state(subject.pronoun, draw.pick(moods), degree=degree), ".")


@pattern
def meeting_soon(draw: Draw) -> Pair:
    """La semaine prochaine, j'inviterai vos cousins."""
    who, when = draw.someone(), draw.pick(lexicon.FUTURE_TIMES[:4])
    said = clause(draw.speaker(), draw.pick(lexicon.MEETINGS), "future", draw.any(("", "", "pas")))
    return say(when, ",", said, who, ".")


@pattern
def person_compared(draw: Draw) -> Pair:
    """Sophie est plus patiente que son frère."""
    subject, adjective = draw.someone(), draw.pick(CHARACTERS)
    other = noun_phrase(subject.possessive, draw.pick(lexicon.PEERS), False)
    return compare(draw, subject, adjective, other)


def compare(draw: Draw, one: Phrase, adjective: Adjective, other: Phrase) -> Pair:
    """One is more, less or as big as the other."""
    more, than = draw.any(
        (
            (Pair("plus", english.comparative(adjective.english)), "than"),
            (Pair("plus", english.comparative(adjective.english)), "than"),
            (Pair("moins", f"less {adjective.english}"), "than"),
            (Pair("aussi", f"as {adjective.english}"), "as"),
        )
    )
    said = one.adjective(adjective)
    is_french, is_english = conjugation.present("être", one.person), english.be(one.person)
    left = Pair(f"{one.french} {is_french} {more.french} {said.french}", f"{one.english} {is_english} {more.english}")
    return say(left, Pair("que", than), other, ".")


@pattern
def ache(draw: Draw) -> Pair:
    """J'ai mal au dos."""
    subject = draw.subject() if draw.chance(0.4) else draw.someone(plural=0)
    noun = draw.pick(lexicon.BODY[-3:] if subject.plural else lexicon.BODY)  # our feet, but hardly our head
    part = noun_phrase("the", noun, noun.number == "plural")
    pronoun = subject == subject.pronoun
    owner = subject.possessive.english if pronoun else english.genitive(subject.english, subject.plural)
    hurts = english.present("hurt", part.person)
    negation = draw.chance(0.25)
    said = f"{hurts}" if not negation else ("don't" if part.plural else "doesn't") + " hurt"
    when = draw.any(TODAY)
    ache_french = f"{have(subject, negation)} mal à {part.french}"
    return say(Pair(ache_french, f"{owner} {part.english.removeprefix('the ')} {said}"), when, ".")


@pattern
def profession(draw: Draw) -> Pair:
    """Mon oncle est médecin."""
    subject = draw.name() if draw.chance(0.3) else draw.relative(plural=0)
    open_to_both = ("doctor", "teacher", "dentist", "journalist")
    jobs = [job for job in lexicon.JOBS if job.feminine == subject.feminine or job.english in open_to_both]
    job = draw.pick(jobs)
    be = draw.any((Pair("est", "is"), Pair("veut devenir", "wants to become"), Pair("était", "was")))
    return say(subject, be, Pair(job.french, f"a {job.english}"), ".")


@pattern
def speaking(draw: Draw) -> Pair:
    """Je parle espagnol, mais je ne parle pas chinois."""
    subject, one = draw.subject(), draw.pick(lexicon.LANGUAGES)
    other = draw.another(lexicon.LANGUAGES, one.english)
    does_not = clause(subject.pronoun, lexicon.SPEAK, "present", "pas")
    return say(clause(subject, lexicon.SPEAK, "present"), one, ",", BUT, does_not, other, ".")


@pattern
def knowing_how(draw: Draw) -> Pair:
    """Lucas sait nager, mais il ne sait pas danser."""
    subject, one = draw.subject(), draw.pick(lexicon.SKILLS)
    other = draw.another(lexicon.SKILLS, one.english)
    knows = clause(subject, lexicon.KNOW_HOW, "present")
    does_not = clause(subject.pronoun, lexicon.KNOW_HOW, "present", "pas")
    skills = [Pair(verb.french, f"to {verb.english}") for verb in (one, other)]
    return say(knows, skills[0], ",", BUT, does_not, skills[1], ".")


@pattern
def knowing(draw: Draw) -> Pair:
    """Vous connaissez Anne et vous l'invitez souvent."""
    subject, who = draw.speaker(), draw.acquaintance()
    negation = draw.any(("", "", "jamais"))
    knows = clause(subject, lexicon.KNOW, "present")
    adverb: Expression | None = None if negation else draw.pick(lexicon.FREQUENCIES)
    verb = draw.pick(lexicon.MEETINGS)
    does = clause(subject, verb, "present", negation, pronoun=who.object.french, adverb=adverb)
    link = BUT if negation or (adverb and adverb.english == "rarely") else Pair("et", "and")
    return say(knows, who, *([","] if link is BUT else []), link, does, Pair("", who.object.english), ".")


@pattern
def who_is_who(draw: Draw) -> Pair:
    """La femme qui porte un chapeau noir est ma tante."""
    person: Noun = draw.pick(lexicon.PEOPLE)
    worn = draw.item(lexicon.CLOTHES if person.feminine else lexicon.EITHER, "bare", adjective=0.6, plural=0)
    ages = lexicon.PEERS if person.english in ("boy", "girl", "child") else lexicon.KIN
    kin = draw.pick([noun for noun in ages if noun.feminine == person.feminine])
    owner = draw.any(draw.owners)
    wearing = Pair("qui porte", "who is wearing")
    return say(noun_phrase("the", person, False), wearing, worn, Pair("est", "is"), noun_phrase(owner, kin, False), ".")


@pattern
def age(draw: Draw) -> Pair:
    """Ma cousine a dix-huit ans."""
    roll = draw.random.random()
    child = roll < 0.3
    if child:
        subject = noun_phrase("the", draw.pick(lexicon.CHILDREN), False)
    elif roll < 0.7:
        subject = noun_phrase(draw.any(draw.owners), draw.pick(lexicon.PEERS), False)
    else:
        subject = draw.name() if roll < 0.9 else draw.pronoun()
    number = draw.pick(lexicon.NUMBERS[3:] + lexicon.LARGE_NUMBERS[: 2 if child else None])
    are = english.be(subject.person)
    years = Pair(f"{have(subject)} {number.french} ans", f"{subject.english} {are} {number.english} years old")
    return say(years, ".")
