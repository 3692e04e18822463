"""Validation and test parts carved from the training part by a hash: more data moves no pair to another part."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ..common.params import ParamsError, Section
from ..common.parts import TEST, TRAIN, VALIDATION, Pair
from ..common.seeding import seed_for
from ..common.system import Name
from .comparison import digest, folded

Share = Annotated[float, Field(ge=0, lt=1)]
Policy = Literal["drop", "report", "fail"]  # for training pairs that share a sentence with a held-out part


class Splitting(Section):
    """Section `split`. Shares are of the clean training pairs; 0 if the corpus has the part.

    Pairs of equal source stay together. `carve_from` names the bitexts to carve from; [] is all of them.
    """

    carve_from: list[Name]
    validation_share: Share
    test_share: Share
    leakage: Policy  # training pairs that share a sentence with a held-out part
    near_leakage: Policy  # likewise if they differ in punctuation or accents, or one is a sentence of the other
    seed: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def leaves_training_pairs(self) -> Self:
        """Pairs must be left to train on."""
        if (held_out := self.validation_share + self.test_share) >= 1:
            raise ValueError(f"the two shares must sum to less than 1, got {held_out:g}")
        return self

    def carved(self) -> list[str]:
        """The parts to carve."""
        shares = {VALIDATION: self.validation_share, TEST: self.test_share}
        return [part for part, share in shares.items() if share]


def check_shares(splitting: Splitting, brought: Collection[str], where: str) -> None:
    """Check that the section at `where` carves the parts that the corpus lacks, and no others.

    Raises: ParamsError naming each share that is wrong.
    """
    faults = []
    for part in (VALIDATION, TEST):
        brings, share = part in brought, getattr(splitting, f"{part}_share")
        if brings == bool(share):
            a, right = ("a", "0.0") if brings else ("no", "above 0")
            faults.append(f"{where}.{part}_share: the corpus brings {a} {part} part, got {share:g}; expected {right}")
    if faults:
        raise ParamsError("\n".join(faults))


def carve(pairs: Iterable[Pair], splitting: Splitting) -> Iterator[tuple[str, Pair]]:
    """Each pair with its part, which depends on the section and on the folded source alone.

    The hash is a number from 0 to 1: below test_share is test, the next validation_share is validation, the rest is
    train. So pairs of equal source stay together, and another validation_share moves no pair of test.
    """
    salt = seed_for(splitting.seed, "carve").to_bytes(8, "little")
    test = int(splitting.test_share * 2**64)
    held_out = test + int(splitting.validation_share * 2**64)
    for pair in pairs:
        place = int.from_bytes(digest(folded(pair[0]), salt), "little")
        yield TEST if place < test else VALIDATION if place < held_out else TRAIN, pair


def check_carved(carved: Mapping[str, int], total: int, splitting: Splitting, where: str) -> None:
    """Check that there are pairs in every part that was carved from `total` pairs.

    Raises: ParamsError naming each share of the section at `where` that is too small.
    """
    faults = [
        f"{where}.{part}_share: carves no pair from {total}, got {getattr(splitting, f'{part}_share'):g}; "
        "expected a larger share"
        for part, num_pairs in carved.items()
        if not num_pairs
    ]
    if faults:
        raise ParamsError("\n".join(faults))
