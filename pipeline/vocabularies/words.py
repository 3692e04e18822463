"""Word vocabularies: each side's most frequent words, all others unknown, as in Bahdanau et al. 2015."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field

from ..common import files, parts
from ..common.params import Section
from ..compute import ids
from ..console.progress import say, track
from . import samples

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")  # by their ids, as SentencePiece calls them
UNKNOWN = "UNK"  # an unknown word of a translation
SILENT = (ids.PAD, ids.BOS, ids.EOS)  # no text


class Words(Section):
    """Section `vocabularies.<name>`: a vocabulary of whole words; each side has its own."""

    kind: Literal["word"]
    words: Annotated[int, Field(ge=1, le=1_000_000)]  # words of each side, without the four special pieces
    sentences: Annotated[int, Field(ge=1)]  # most pairs to count words in; a seeded sample if there are more
    seed: Annotated[int, Field(ge=0)]


class Moses:
    """Text to words, punctuation marks among them, and back by Moses's rules of one language, or else of English.

    Nothing is lower-cased, escaped or normalised; no word holds white space.
    """

    def __init__(self, language: str) -> None:
        from sacremoses import MosesDetokenizer, MosesTokenizer  # a third of a second, which pieces need not wait for

        code = re.split("[-_]", language)[0].lower()  # the rules of pt_BR are those of pt
        # `escape` would write &apos; for an apostrophe, which a reference does not have
        self.split: Callable[[str], list[str]] = partial(MosesTokenizer(lang=code).tokenize, escape=False)
        self.join: Callable[[list[str]], str] = partial(MosesDetokenizer(lang=code).detokenize, unescape=False)


class WordList:
    """One side of a vocabulary, in whole words."""

    whole_words = True
    spells_all = True  # an unknown word reads UNK, whatever its characters

    def __init__(self, language: str, words: Sequence[str], tags: Sequence[str] = ()) -> None:
        self.moses, self.tags = Moses(language), tags
        self.pieces = [*SPECIAL, *tags, *words]
        self.ids = {word: number for number, word in enumerate(words, start=len(SPECIAL) + len(tags))}
        self.size = len(self.pieces)
        self.characters = frozenset("".join(words))

    @classmethod
    def load(cls, path: Path) -> Self:
        """The word list that `train` wrote.

        Raises: DataError if the file is missing or holds no word list.
        """
        listed = files.read_json(path)
        try:
            return cls(listed["language"], listed["words"], listed.get("tags", ()))
        except (KeyError, TypeError, AttributeError):
            raise files.DataError(f"{path}: not a word list; expected one of the stage vocabulary") from None

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line's words."""
        return [[self.ids.get(word, ids.UNK) for word in self.moses.split(line)] for line in lines]

    def decode(self, sentence: Sequence[int]) -> str:
        """The text of one sentence; an unknown word reads UNK, the other special pieces give none.

        Source: Bahdanau et al. 2015. `<unk>` would be three words to BLEU's tokeniser 13a.
        """
        return self.moses.join(
            [UNKNOWN if piece == ids.UNK else self.pieces[piece] for piece in sentence if piece not in SILENT]
        )

    def piece(self, piece: int) -> str:
        """The word with this id."""
        return self.pieces[piece]

    def tag_id(self, tag: str) -> int | None:
        """The id of a tag; None if there is none."""
        return len(SPECIAL) + self.tags.index(tag) if tag in self.tags else None


def train(
    words: Words, split: Path, languages: tuple[str, str], tags: Mapping[str, str], folder: Path, where: str
) -> None:
    """List the words of the training part in `split`, and write lists and vocabulary.json into `folder`.

    Each tag of a bitext is an entry of the source's. `where` is the section that errors name.

    Raises: DataError if the text is empty or holds a tag.
    """
    drawn = samples.read(split, words.sentences, words.seed, tags, has_others=False)
    record: dict[str, object] = {"kind": words.kind, "joint": False, "pairs": drawn.pairs}
    for side, language in zip(samples.SIDES, languages, strict=True):
        text, split_words, counts = f"{split / parts.TRAIN}, {side}", Moses(language).split, Counter[str]()
        for line in track(drawn.lines[side], f"{side} vocabulary", total=drawn.pairs, unit="lines"):
            counts.update(split_words(line))
        if not counts:
            raise files.DataError(f"{text}: no text to train a vocabulary on; expected at least one line with words")
        if len(counts) < words.words:
            say(where, f"{text} has no more than {len(counts):,} words, fewer than {words.words:,}")
        # of equally frequent words the first by code points
        listed = sorted(counts, key=lambda word: (-counts[word], word))[: words.words]
        about = {"tags": drawn.tags} if drawn.tags and side == "source" else {}
        record[f"{side}_language"] = language
        record[f"{side}_size"] = len(SPECIAL) + len(about.get("tags", ())) + len(listed)
        files.write_json(folder / f"{side}.words.json", {"language": language, **about, "words": listed})
    files.write_json(folder / "vocabulary.json", record)
