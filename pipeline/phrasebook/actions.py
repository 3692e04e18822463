"""Patterns of what people do with things: eat, wear, lose, like."""

from pipeline.phrasebook import english, lexicon
from pipeline.phrasebook.clauses import clause, state
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.lexicon import CLOTHES, DISHES, FRAMES, OWNED, Frame
from pipeline.phrasebook.patterns import pattern
from pipeline.phrasebook.phrases import Pair, Phrase, noun_phrase, say
from pipeline.phrasebook.words import Adjective, Verb

LIKES = lexicon.verbs("aimer = like", "adorer = love", "détester = hate", "préférer = prefer")
LIKED = (*lexicon.CONSUMED, lexicon.SHOWS, lexicon.MUSIC, lexicon.TEXTS, lexicon.DRAWABLE)
CHILDISH = tuple(frame for frame in LIKED if frame is not lexicon.DRINKS)
SINGLE = (CLOTHES, DISHES)  # one at a time, even where it is every day
LITTLE = Adjective("petit", "little")
NOW = (Pair("", ""), Pair("", ""), Pair("en ce moment", "right now"))


def usual_object(draw: Draw, frame: Frame, kind: str = "bare") -> Phrase:
    """What one eats, reads or repairs as a habit: many of them, or one hat."""
    return draw.item(frame, kind, adjective=0.2, plural=0.0 if frame in SINGLE and kind == "bare" else 1.0)


def wanted(frame: Frame) -> list[Verb]:
    """What one does to things of the frame on purpose."""
    return [verb for verb in frame.sudden if verb not in (lexicon.FORGET, lexicon.LOSE, lexicon.BREAK)]


def it(thing: Phrase) -> Pair:
    """The English object pronoun of a thing; the French one stands before the verb."""
    return Pair("", "them" if thing.plural else "it")


@pattern
def doing_now(draw: Draw) -> Pair:
    """Marie mange une pomme rouge."""
    frame = draw.any(FRAMES)
    verb = draw.pick(frame.lasting)
    thing = draw.item(frame, "bare" if verb is lexicon.WEAR else "a")
    return say(clause(draw.subject(), verb, "progressive"), thing, draw.any(NOW), ".")


@pattern
def doing_often(draw: Draw) -> Pair:
    """Je mange souvent du pain le matin."""
    frame = draw.any(FRAMES)
    said = clause(draw.subject(), draw.pick(frame.usual), "present", adverb=draw.pick(lexicon.FREQUENCIES))
    return say(said, usual_object(draw, frame), draw.pick(lexicon.USUAL_TIMES[:3]), ".")


@pattern
def never_doing(draw: Draw) -> Pair:
    """Lucas ne boit jamais de café."""
    frame = draw.any(FRAMES)
    said = clause(draw.subject(), draw.pick(frame.usual), "present", "jamais")
    return say(said, usual_object(draw, frame, "of none"), ".")


@pattern
def no_longer_doing(draw: Draw) -> Pair:
    """Elle ne vend plus de fleurs."""
    frame = draw.any(FRAMES)
    said = clause(draw.subject(), draw.pick(frame.usual), "present", "plus")
    return say(said, usual_object(draw, frame, "of none"), Pair("", "anymore"), ".")


@pattern
def liking(draw: Draw) -> Pair:
    """Nous adorons les vieux films."""
    frame = draw.any(LIKED)
    thing = draw.item(frame, "general", adjective=0.0 if frame in lexicon.CONSUMED else 0.4, plural=1.0)
    return say(clause(draw.subject(), draw.pick(LIKES), "present"), thing, ".")


@pattern
def liking_one(draw: Draw) -> Pair:
    """Tu aimes le fromage, mais tu n'aimes pas le lait."""
    subject = draw.subject()
    nouns = draw.any((*(frame.nouns for frame in lexicon.CONSUMED), lexicon.ANIMALS))
    one = draw.pick(nouns)
    other = draw.another(nouns, one.english)
    liked, unliked = (noun_phrase("general", noun, noun.number == "both") for noun in (one, other))
    does_not = clause(subject.pronoun, LIKES[0], "present", "pas")
    return say(clause(subject, LIKES[0], "present"), liked, ",", Pair("mais", "but"), does_not, unliked, ".")


@pattern
def having_done(draw: Draw) -> Pair:
    """Hier, Marie a acheté une belle robe."""
    frame = draw.any(FRAMES)
    said = clause(draw.subject(), draw.pick(frame.sudden), "past")
    thing = draw.item(frame, "a", adjective=0.5)
    when = draw.pick(lexicon.PAST_TIMES[:3] if frame in lexicon.CONSUMED else lexicon.PAST_TIMES)
    return say(when, ",", said, thing, ".") if draw.chance(0.5) else say(said, thing, when, ".")


@pattern
def not_having_done(draw: Draw) -> Pair:
    """Je n'ai pas trouvé les clés."""
    frame = draw.any((*OWNED, lexicon.SHUT))
    return say(clause(draw.subject(), draw.pick(frame.sudden), "past", "pas"), draw.item(frame, "the"), ".")


@pattern
def where_it_went(draw: Draw) -> Pair:
    """Où est la clé ? Paul l'a perdue."""
    thing = draw.item(draw.any((CLOTHES, lexicon.THINGS)), "the")
    verb = draw.pick((lexicon.LOSE, lexicon.SELL, lexicon.HIDE, lexicon.KEEP, lexicon.FORGET))
    said = clause(draw.subject(), verb, "past", pronoun=thing.object.french, agreement=thing)
    where = Pair("où sont", "where are") if thing.plural else Pair("où est", "where is")
    return say(where, thing, "?", said, it(thing), ".")


@pattern
def looking_for(draw: Draw) -> Pair:
    """Je cherche mes clés, mais je ne les trouve pas."""
    subject = draw.subject()
    thing = draw.item(draw.any((lexicon.EITHER, lexicon.THINGS, lexicon.TEXTS)), subject.possessive, adjective=0.2)
    finds = clause(subject.pronoun, lexicon.FIND, "present", "pas", pronoun=thing.object.french)
    cannot = Pair(finds.french, f"{subject.pronoun.english} can't find")
    return say(clause(subject, lexicon.SEEK, "progressive"), thing, ",", Pair("mais", "but"), cannot, it(thing), ".")


@pattern
def liking_it_unused(draw: Draw) -> Pair:
    """J'aime cette robe, mais je ne la porte jamais."""
    frame, verb = draw.any(((CLOTHES, lexicon.WEAR), (lexicon.TEXTS, lexicon.READ), (lexicon.MUSIC, lexicon.HEAR)))
    subject = draw.subject()
    thing = draw.item(frame, "this", adjective=0.2)
    negation = draw.any(("jamais", "plus"))
    unused = clause(subject.pronoun, verb, "present", negation, pronoun=thing.object.french)
    end = Pair("", "anymore" if negation == "plus" else "")
    return say(clause(subject, LIKES[0], "present"), thing, ",", Pair("mais", "but"), unused, it(thing), end, ".")


@pattern
def birthday(draw: Draw) -> Pair:
    """C'est bientôt l'anniversaire de Marie. Nous lui donnerons un livre."""
    who = draw.name() if draw.chance(0.4) else draw.relative(plural=0)
    owner = Pair(f"de {who.french}", f"{english.genitive(who.english, False)} birthday")
    day = say(Pair("c'est bientôt l'anniversaire", "it will soon be"), owner)
    verb = draw.pick((lexicon.GIVE, lexicon.BUY, lexicon.BRING))
    gives = clause(draw.speaker(), verb, "future", pronoun="lui")
    gift = draw.item(lexicon.GIFTS, "a")
    return say(day, ".", gives, Pair("", who.object.english), gift, ".")


@pattern
def visitors(draw: Draw) -> Pair:
    """Mes cousins arrivent demain. Je leur montrerai le jardin."""
    arrive = clause(draw.relative(plural=1.0), lexicon.ARRIVE, "progressive")
    shows = clause(draw.speaker(), lexicon.SHOW, "future", pronoun="leur")
    sight = draw.pick(lexicon.SIGHTS)
    shown = noun_phrase("the", sight, False, draw.pick(lexicon.SIGHT_ADJECTIVES) if draw.chance(0.3) else None)
    return say(arrive, draw.pick(lexicon.FUTURE_TIMES[:3]), ".", shows, Pair("", "them"), shown, ".")


@pattern
def giving_to(draw: Draw) -> Pair:
    """Paul a prêté le vélo au voisin."""
    verb = draw.pick((lexicon.GIVE, lexicon.SHOW, lexicon.LEND, lexicon.SEND, lexicon.SELL))
    thing = draw.item(draw.any((CLOTHES, lexicon.TEXTS, lexicon.THINGS, lexicon.MACHINES)), "the", adjective=0.2)
    who = draw.someone()
    giver = draw.pronoun()
    return say(clause(giver, verb, "past"), thing, Pair("à", "to"), who, ".")


@pattern
def never_talking(draw: Draw) -> Pair:
    """Je vois Sophie tous les jours, mais je ne lui parle jamais."""
    subject, who = draw.speaker(), draw.someone()
    sees = clause(subject, lexicon.SEE, "present")
    speaks = clause(subject, lexicon.TALK, "present", "jamais", pronoun="leur" if who.plural else "lui")
    when = draw.pick(lexicon.USUAL_TIMES)
    return say(sees, who, when, ",", Pair("mais", "but"), speaks, Pair("", f"to {who.object.english}"), ".")


@pattern
def going_to(draw: Draw) -> Pair:
    """Claire va acheter une nouvelle voiture."""
    frame, subject = draw.any(FRAMES), draw.subject()
    verb = draw.pick(wanted(frame))
    goes = clause(subject, lexicon.GO, "progressive")
    when = draw.pick(lexicon.FUTURE_TIMES[:3]) if draw.chance(0.4) else Pair("", "")
    return say(goes, Pair(verb.french, f"to {verb.english}"), draw.item(frame, "a"), when, ".")


@pattern
def just_done(draw: Draw) -> Pair:
    """Ma tante vient de casser une assiette."""
    frame, subject = draw.any(FRAMES), draw.subject()
    verb = draw.pick(frame.sudden)
    comes = clause(subject, lexicon.COME, "present").french
    has = f"{subject.english} {english.present('have', subject.person)} just"
    done = Pair(f"de {verb.french}", english.inflect(verb.english, "participle"))
    return say(Pair(comes, has), done, draw.item(frame, "a"), ".")


@pattern
def having_to(draw: Draw) -> Pair:
    """Paul doit réparer son vélo."""
    subject, frame = draw.subject(), draw.any((*OWNED, lexicon.SHUT))
    modal = draw.pick(lexicon.MODALS)
    verb = draw.pick(wanted(frame))
    thing = draw.item(frame, subject.possessive, adjective=0.2)
    negation = "" if modal is lexicon.MUST or draw.chance(0.6) else "pas"
    able = clause(subject, modal, "present", negation)
    return say(able, Pair(verb.french, verb.english if modal is lexicon.CAN else f"to {verb.english}"), thing, ".")


@pattern
def as_a_child(draw: Draw) -> Pair:
    """Quand j'étais petit, je lisais des poèmes."""
    subject = draw.subject()
    small = state(subject, LITTLE, past=True)
    frame = draw.any(CHILDISH)
    used = clause(subject.pronoun, draw.pick(frame.usual), "used to")
    return say(Pair("quand", "when"), small, ",", used, draw.item(frame, "bare", adjective=0.2, plural=1.0), ".")
