"""Subject and verb in both languages at once: tense, negation, pronouns, agreement."""

from pipeline.phrasebook import conjugation, english, french
from pipeline.phrasebook.phrases import Pair, Phrase, words
from pipeline.phrasebook.words import Adjective, Expression, Verb

FRENCH = {
    "present": "présent",
    "progressive": "présent",
    "past": "passé composé",
    "perfect": "passé composé",
    "used to": "imparfait",
    "past progressive": "imparfait",
    "future": "futur",
}


REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")


def clause(
    subject: Phrase,
    verb: Verb,
    tenses: str,
    negation: str = "",
    *,
    pronoun: str = "",
    adverb: Expression | None = None,
    agreement: Phrase | None = None,
) -> Pair:
    """Subject and verb, without what follows them.

    `tenses` names the French tense and the English one where French leaves a choice (see FRENCH and ENGLISH).
    `negation` is `pas`, `jamais` or `plus`; an English sentence with `plus` ends in `anymore`, which the caller adds.
    `pronoun` is the French object pronoun (its English stands after the verb and is the caller's), `agreement` what a
    participle with avoir agrees with.
    """
    return Pair(
        french_clause(subject, verb, FRENCH[tenses], negation, pronoun, adverb, agreement),
        english_clause(subject, verb, tenses, negation, adverb),
    )


def french_clause(
    subject: Phrase,
    verb: Verb,
    tense: str,
    negation: str,
    pronoun: str,
    adverb: Expression | None,
    agreement: Phrase | None,
) -> str:
    """The French half of a clause, before spelling."""
    person, infinitive = subject.person, verb.infinitive
    participle = ""
    if tense == "passé composé":
        moved = verb.reflexive or conjugation.auxiliary(infinitive) == "être"
        form = conjugation.present("être" if moved else "avoir", person)
        agreeing = subject if moved else agreement
        participle = conjugation.participle(infinitive)
        if agreeing:
            participle = french.agree(participle, agreeing.feminine, agreeing.plural)
    else:
        conjugate = {"présent": conjugation.present, "imparfait": conjugation.imparfait, "futur": conjugation.futur}
        form = conjugate[tense](infinitive, person)
    reflexive = REFLEXIVE[person] if verb.reflexive else ""
    no = "ne" if negation else ""
    after = adverb.french if adverb else ""
    return words(subject.french, no, reflexive, pronoun, form, negation, after, participle)


def english_clause(subject: Phrase, verb: Verb, tense: str, negation: str, adverb: Expression | None) -> str:
    """The English half of a clause."""
    person, base = subject.person, verb.english
    often = adverb.english if adverb else "never" if negation == "jamais" else ""
    no = "n't" if negation in ("pas", "plus") else ""
    if tense == "progressive":
        return f"{subject.english} {deny(english.be(person), no)} {english.inflect(base, 'ing')}"
    if tense == "past progressive":
        return f"{subject.english} {deny(english.was(person), no)} {english.inflect(base, 'ing')}"
    if tense == "used to":
        return f"{subject.english} used to {base}"
    if tense == "future":
        return words(subject.english, deny("will", no), often, base)
    if tense == "perfect":
        return words(subject.english, "has" if person == 2 else "have", often, english.inflect(base, "participle"))
    if base == "can":
        return words(subject.english, deny("can", no))
    if no:
        does = "did" if tense == "past" else english.present("do", person)
        return words(subject.english, deny(does, no), often, base)
    form = english.inflect(base, "past") if tense == "past" else english.present(base, person)
    return words(subject.english, often, form)


def deny(verb: str, no: str) -> str:
    """An English auxiliary, negated if `no` is `n't`."""
    if not no:
        return verb
    return {"am": "am not", "will": "won't", "can": "can't"}.get(verb, f"{verb}n't")


def state(
    subject: Phrase, adjective: Adjective, negation: bool = False, degree: Expression | None = None, past: bool = False
) -> Pair:
    """Somebody is, is not or was very sad."""
    said = subject.adjective(adjective)
    be = conjugation.imparfait if past else conjugation.present
    copula = (english.was if past else english.be)(subject.person)
    french_degree, english_degree = (degree.french, degree.english) if degree else ("", "")
    no = ("ne", "pas") if negation else ("", "")
    return Pair(
        words(subject.french, no[0], be("être", subject.person), no[1], french_degree, said.french),
        words(subject.english, deny(copula, "n't" if negation else ""), english_degree, said.english),
    )
