"""What people do with things: a sentence of each pattern, and nothing done on purpose that happens."""

from collections.abc import Callable
from types import ModuleType

from pipeline.phrasebook import actions, lexicon

WrittenBy = Callable[[ModuleType], dict[str, set[tuple[str, str]]]]

# One of each pattern, read and found right in both languages.
CHECKED = {
    "doing_now": ("Le facteur regarde des spectacles.", "The mailman is watching some shows."),
    "doing_often": ("Nous peignons rarement de grandes tables le week-end.", "We rarely paint big tables on weekends."),
    "never_doing": ("Louis n'achète jamais de café.", "Louis never buys coffee."),
    "no_longer_doing": ("Elles n'achètent plus de bottes.", "They don't buy boots anymore."),
    "liking": ("Le cuisinier adore le jus d'orange.", "The cook loves orange juice."),
    "liking_one": (
        "Antoine aime l'eau, mais il n'aime pas la bière.",
        "Antoine likes water, but he doesn't like beer.",
    ),
    "having_done": ("Elles ont commandé une crêpe hier.", "They ordered a pancake yesterday."),
    "not_having_done": ("Je n'ai pas acheté le nouveau bureau.", "I didn't buy the new desk."),
    "where_it_went": ("Où sont les stylos ? La femme les a vendus.", "Where are the pens? The woman sold them."),
    "looking_for": (
        "Le fermier cherche son couteau, mais il ne le trouve pas.",
        "The farmer is looking for his knife, but he can't find it.",
    ),
    "liking_it_unused": (
        "Tu aimes cette chanson étrange, mais tu ne l'écoutes jamais.",
        "You like this strange song, but you never listen to it.",
    ),
    "birthday": (
        "C'est bientôt l'anniversaire de mon fils. Vous lui apporterez une assiette noire.",
        "It will soon be my son's birthday. You will bring him a black plate.",
    ),
    "visitors": (
        "Mes voisines arrivent la semaine prochaine. Vous leur montrerez la place.",
        "My neighbors are arriving next week. You will show them the square.",
    ),
    "giving_to": ("Ils ont envoyé les guitares à la femme.", "They sent the guitars to the woman."),
    "never_talking": (
        "Nous voyons Louis le week-end, mais nous ne lui parlons jamais.",
        "We see Louis on weekends, but we never talk to him.",
    ),
    "going_to": ("L'actrice va apporter du vin.", "The actress is going to bring some wine."),
    "just_done": ("Nous venons d'envoyer un article.", "We have just sent an article."),
    "having_to": ("Elle ne veut pas réparer son nouveau lit.", "She doesn't want to repair her new bed."),
    "as_a_child": (
        "Quand nous étions petits, nous mangions du fromage.",
        "When we were little, we used to eat cheese.",
    ),
}


def test_each_pattern_writes_its_hand_checked_sentence(written_by: WrittenBy) -> None:
    written = written_by(actions)
    assert set(CHECKED) == set(written)
    assert [name for name, pair in CHECKED.items() if pair not in written[name]] == []


def test_nobody_means_to_lose_forget_or_break_a_thing() -> None:
    accidents = {"lose", "forget", "break"}
    meant = [{verb.english for verb in actions.wanted(frame)} for frame in (*lexicon.FRAMES, lexicon.SHUT)]
    assert all(meant)
    assert not accidents & set().union(*meant)
    assert {verb.english for verb in actions.wanted(lexicon.MACHINES)} == {"repair", "clean", "buy", "sell"}
