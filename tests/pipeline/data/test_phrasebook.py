"""The bundled corpus: hand-checked sentences, parts that share nothing, the same bytes everywhere."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pipeline.data import phrasebook
from pipeline.data.grammar.patterns import PATTERNS
from pipeline.data.grammar.words import Expression
from pipeline.data.phrasebook import PARTS, Sentence, normalise, pairs, sentences
from pipeline.files import DataError

ROOT = Path(__file__).parents[3]

# One of each pattern, read and found right in both languages.
CHECKED = [
    ("Le serveur a mal au dos maintenant.", "The waiter's back hurts now."),
    ("Il danse toujours au printemps.", "He always dances in the spring."),
    ("Le fermier dormira demain matin.", "The farmer will sleep tomorrow morning."),
    ("Paul a soixante ans.", "Paul is sixty years old."),
    ("Elle a neuf lapins.", "She has nine rabbits."),
    ("Quand nous étions petits, nous mangions du fromage.", "When we were little, we used to eat cheese."),
    ("Peux-tu laver ma veste demain matin ?", "Can you wash my jacket tomorrow morning?"),
    ("Préférez-vous le beurre ou le fromage ?", "Do you prefer butter or cheese?"),
    (
        "Quels sacs préfères-tu, les jaunes ou les blancs ?",
        "Which bags do you prefer, the yellow ones or the white ones?",
    ),
    ("Est-ce qu'il y a un musée près de la bibliothèque ?", "Is there a museum near the library?"),
    ("Combien de fauteuils y a-t-il dans la salle de bains ?", "How many armchairs are there in the bathroom?"),
    ("À quelle heure est-ce que Louis se réveille le week-end ?", "What time does Louis wake up on weekends?"),
    ("Où avez-vous trouvé ces chapeaux ?", "Where did you find these hats?"),
    ("Est-ce que le boulanger a peint le garage bleu ?", "Did the baker paint the blue garage?"),
    ("Qui a fini ces lettres ?", "Who finished these letters?"),
    ("Pourquoi est-ce que nous étions heureux ce matin ?", "Why were we happy this morning?"),
    ("Anne est assez déçue.", "Anne is quite disappointed."),
    ("Anne est discrète, mais elle n'est pas curieuse.", "Anne is discreet, but she isn't curious."),
    ("Ce sont les vélos de ma voisine.", "These are my neighbor's bikes."),
    (
        "C'est bientôt l'anniversaire de mon fils. Vous lui apporterez une assiette noire.",
        "It will soon be my son's birthday. You will bring him a black plate.",
    ),
    ("L'anniversaire de l'homme est en août.", "The man's birthday is in August."),
    ("Cette fille vient de Rome.", "This girl comes from Rome."),
    ("Ce téléphone coûte dix-huit euros.", "This phone costs eighteen euros."),
    ("La femme pleure parce qu'elle est malade.", "The woman is crying because she is sick."),
    ("Le facteur regarde des spectacles.", "The mailman is watching some shows."),
    ("Nous peignons rarement de grandes tables le week-end.", "We rarely paint big tables on weekends."),
    ("Ils ont envoyé les guitares à la femme.", "They sent the guitars to the woman."),
    ("L'actrice va apporter du vin.", "The actress is going to bring some wine."),
    ("Sophie va à la boulangerie à deux heures.", "Sophie goes to the bakery at two o'clock."),
    ("Elles ont commandé une crêpe hier.", "They ordered a pancake yesterday."),
    ("Elle ne veut pas réparer son nouveau lit.", "She doesn't want to repair her new bed."),
    ("S'il pleut demain matin, il ira à l'hôtel.", "If it rains tomorrow morning, he will go to the hotel."),
    ("Nous venons d'envoyer un article.", "We have just sent an article."),
    ("Vous connaissez l'enfant et vous l'appelez toujours.", "You know the child and you always call him."),
    ("Elle sait dessiner, mais elle ne sait pas skier.", "She knows how to draw, but she doesn't know how to ski."),
    ("Il est dix heures et demie : vous devez manger.", "It is half past ten: you have to eat."),
    ("L'acteur apprend le français depuis onze ans.", "The actor has been learning French for eleven years."),
    ("Le cuisinier adore le jus d'orange.", "The cook loves orange juice."),
    (
        "Tu aimes cette chanson étrange, mais tu ne l'écoutes jamais.",
        "You like this strange song, but you never listen to it.",
    ),
    ("Antoine aime l'eau, mais il n'aime pas la bière.", "Antoine likes water, but he doesn't like beer."),
    ("J'habite à Berlin depuis dix ans.", "I have lived in Berlin for ten years."),
    (
        "Le fermier cherche son couteau, mais il ne le trouve pas.",
        "The farmer is looking for his knife, but he can't find it.",
    ),
    ("Le mois prochain, je n'attendrai pas l'enfant.", "Next month, I won't wait for the child."),
    ("Nous avons attendu les hommes à la banque la semaine dernière.", "We waited for the men at the bank last week."),
    ("C'est la plus vieille tour de la ville.", "It is the oldest tower in the city."),
    ("Le médecin a besoin d'une nouvelle chaise.", "The doctor needs a new chair."),
    ("Louis n'achète jamais de café.", "Louis never buys coffee."),
    (
        "Nous voyons Louis le week-end, mais nous ne lui parlons jamais.",
        "We see Louis on weekends, but we never talk to him.",
    ),
    ("Claire n'a jamais visité le Canada.", "Claire has never visited Canada."),
    ("Elles n'achètent plus de bottes.", "They don't buy boots anymore."),
    ("Elles n'étudient pas parce qu'elles sont malades.", "They aren't studying because they are sick."),
    ("Je n'ai pas acheté le nouveau bureau.", "I didn't buy the new desk."),
    ("Ferme cette fenêtre, s'il te plaît.", "Close this window, please."),
    ("Votre grand-mère est moins curieuse que sa sœur.", "Your grandmother is less curious than her sister."),
    ("La pharmacie était ouverte jeudi dernier.", "The pharmacy was open last Thursday."),
    ("Il joue au basket le week-end.", "He plays basketball on weekends."),
    ("Ma tante était journaliste.", "My aunt was a journalist."),
    ("Il se lave à dix heures moins le quart tous les jours.", "He washes at a quarter to ten every day."),
    (
        "Lundi dernier, il s'est réveillé à huit heures moins le quart.",
        "Last Monday, he woke up at a quarter to eight.",
    ),
    ("Je parle espagnol, mais je ne parle pas français.", "I speak Spanish, but I don't speak French."),
    ("Notre voisine n'est pas restée longtemps au théâtre.", "Our neighbor didn't stay long at the theater."),
    ("Il y a neuf tables dans le garage.", "There are nine tables in the garage."),
    ("Avant, il y avait un hôtel à côté de la pharmacie.", "There used to be a hotel next to the pharmacy."),
    ("L'ordinateur que nous avons choisi hier soir est cher.", "The computer that we chose last night is expensive."),
    ("Ce vin est moins cher que la viande.", "This wine is less expensive than the meat."),
    ("L'assiette est sur la table.", "The plate is on the table."),
    ("Ce spectacle est trop étrange.", "This show is too strange."),
    ("Les ponts n'étaient pas très célèbres.", "The bridges weren't very famous."),
    ("Elle pense que ce spectacle est assez long.", "She thinks that this show is quite long."),
    ("Le vol pour Berlin part à quatre heures dix.", "The flight to Berlin leaves at ten past four."),
    (
        "Mes voisines arrivent la semaine prochaine. Vous leur montrerez la place.",
        "My neighbors are arriving next week. You will show them the square.",
    ),
    (
        "Louis m'attendra devant la bibliothèque à deux heures et demie.",
        "Louis will wait for me in front of the library at half past two.",
    ),
    ("Ne cachez pas mon sac !", "Don't hide my bag!"),
    ("Lucas cherchait une tasse quand vous êtes arrivées.", "Lucas was looking for a cup when you arrived."),
    (
        "La semaine dernière, tu es retourné au musée avec ta mère.",
        "Last week, you returned to the museum with your mother.",
    ),
    ("Où sont les stylos ? La femme les a vendus.", "Where are the pens? The woman sold them."),
    ("L'étudiant qui porte un uniforme est mon frère.", "The student who is wearing a uniform is my brother."),
    (
        "En hiver, votre grand-mère voyagera au Japon avec son ami.",
        "In the winter, your grandmother will travel to Japan with her friend.",
    ),
    ("Nous voudrions sept kilos de riz.", "We would like seven kilos of rice."),
]


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[Sentence]]:
    sizes = {"train": 14000, "validation": 1000, "test": 1000, "compositional": 1000}
    return {part: sentences(part, size, seed=1) for part, size in sizes.items()}


def test_hand_checked_pairs_of_every_pattern_are_written(corpus: dict[str, list[Sentence]]) -> None:
    written = {(sentence.french, sentence.english): sentence.pattern for sentence in corpus["train"]}
    assert [pair for pair in CHECKED if pair not in written] == []
    assert len(CHECKED) >= 60
    assert {written[pair] for pair in CHECKED} == set(PATTERNS)


def test_there_are_many_patterns_and_words_and_each_is_seen_often(corpus: dict[str, list[Sentence]]) -> None:
    patterns = Counter(sentence.pattern for sentence in corpus["train"])
    words = Counter((type(word), word.french) for sentence in corpus["train"] for word in set(sentence.words))
    lemmas = {french for kind, french in words if kind is not Expression}
    assert set(patterns) == set(PATTERNS)
    assert len(patterns) >= 25
    assert max(patterns.values()) < 2 * min(patterns.values())  # drawn evenly, not by how many sentences each has
    assert len(lemmas) >= 300
    assert min(words.values()) >= 15


def test_parts_share_no_source_and_no_target(corpus: dict[str, list[Sentence]]) -> None:
    others = {part: sentences(part, 600, seed=2) for part in PARTS}
    homes: dict[str, str] = {}
    for part in PARTS:
        for sentence in (*corpus[part], *others[part]):
            for text in (sentence.french, sentence.english):
                assert homes.setdefault(normalise(text), part) == part, text


def test_a_source_has_one_translation_and_a_target_one_pattern(corpus: dict[str, list[Sentence]]) -> None:
    translations: dict[str, str] = {}
    patterns: dict[str, str] = {}
    for sentence in (sentence for part in PARTS for sentence in corpus[part]):
        assert translations.setdefault(normalise(sentence.french), sentence.english) == sentence.english
        assert patterns.setdefault(normalise(sentence.english), sentence.pattern) == sentence.pattern


def test_no_pair_stands_twice(corpus: dict[str, list[Sentence]]) -> None:
    for drawn in corpus.values():
        assert len({sentence.french for sentence in drawn}) == len(drawn)


def combinations(drawn: list[Sentence]) -> set[tuple[str, str]]:
    """Pattern and word of every sentence."""
    return {(sentence.pattern, word.key) for sentence in drawn for word in sentence.words}


def test_compositional_pairs_each_have_a_combination_never_seen_elsewhere(corpus: dict[str, list[Sentence]]) -> None:
    seen = combinations(corpus["train"] + corpus["validation"] + corpus["test"])
    for sentence in corpus["compositional"]:
        assert combinations([sentence]) - seen, sentence
    assert not any(map(phrasebook.reserved, corpus["train"]))


def test_compositional_words_and_patterns_are_all_known_from_training(corpus: dict[str, list[Sentence]]) -> None:
    new = combinations(corpus["compositional"])
    seen = combinations(corpus["train"])
    assert {pattern for pattern, _ in new} <= {pattern for pattern, _ in seen} == set(PATTERNS)
    assert {word for _, word in new} <= {word for _, word in seen}
    french = {word.french for sentence in corpus["train"] for word in sentence.words}
    assert {word.french for sentence in corpus["compositional"] for word in sentence.words} <= french


def test_the_largest_training_part_of_use_can_be_had() -> None:
    assert len(set(pairs("train", 20000, seed=1))) == 20000


@pytest.mark.parametrize("part", PARTS)
def test_more_pairs_leave_the_first_ones_as_they_are(part: str) -> None:
    assert pairs(part, 300, seed=3)[:250] == pairs(part, 250, seed=3)


def test_another_seed_gives_other_pairs() -> None:
    assert pairs("test", 50, seed=1) != pairs("test", 50, seed=2)


def test_every_process_writes_the_same_bytes() -> None:
    program = (
        "import hashlib; from pipeline.data.phrasebook import PARTS, pairs;"
        "print(hashlib.sha256(repr([pairs(part, 100, 7) for part in PARTS]).encode()).hexdigest())"
    )
    here = hashlib.sha256(repr([pairs(part, 100, 7) for part in PARTS]).encode()).hexdigest()
    for hash_seed in ("0", "1234"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", program]
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert answer.stdout.strip() == here


def test_sentences_are_clean_text(corpus: dict[str, list[Sentence]]) -> None:
    for sentence in corpus["train"]:
        for text in (sentence.french, sentence.english):
            assert text == " ".join(text.split())
            assert text[0].isupper()
            assert text[-1] in ".?!"
        words = f" {sentence.french.lower()} "
        for wrong in (
            " de le ",
            " de les ",
            " à le ",
            " à les ",
            " si il",
            " je a",
            " la é",
            " que il",
            " de a",
            " ne é",
        ):
            assert wrong not in words, sentence


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(DataError) as error:
        pairs("dev", 10, seed=1)
    assert str(error.value) == (
        "phrasebook: unknown part, got 'dev'; expected one of train, validation, test, compositional"
    )


def test_a_number_below_one_is_refused() -> None:
    with pytest.raises(DataError) as error:
        pairs("test", 0, seed=1)
    assert str(error.value) == "phrasebook test: num_pairs must be at least 1, got 0"


def test_more_pairs_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrasebook, "MOST_PER_PATTERN", 2)
    most = 2 * len(PATTERNS)
    assert len(pairs("train", most, seed=1)) == most
    with pytest.raises(DataError) as error:
        pairs("train", most + 1, seed=1)
    assert str(error.value) == f"phrasebook train: num_pairs must be at most {most} for seed 1, got {most + 1}"
