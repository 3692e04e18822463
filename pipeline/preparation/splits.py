"""Validation and test parts carved from a training part by a hash, so that more data moves no pair."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from pipeline.corpora.parts import TEST, TRAIN, VALIDATION, Pair, is_test
from pipeline.params import ParamsError, Section
from pipeline.preparation.comparison import folded
from pipeline.preparation.duplicates import digest
from pipeline.seeding import seed_for

Share = Annotated[float, Field(ge=0, lt=1)]
Policy = Literal["drop", "report", "fail"]  # what becomes of a pair that a held-out part knows


class Decontamination(Section):
    """Section `split`: what becomes of training pairs that a held-out part knows, and the seed of what is drawn."""

    leakage: Policy  # of sentences that are the same
    near_leakage: Policy  # of those that are nearly the same, or stand among others: see `contamination`
    seed: Annotated[int, Field(ge=0)]


class Splitting(Decontamination):
    """Sections `split` and `split` of a corpus. A share is of the clean training pairs; 0 for a part the corpus brings.

    `carve_by: source` keeps pairs of equal source together; `line` draws each line by itself, as tutorials do, and so
    lets training see what it is judged by wherever a sentence stands twice.
    """

    carve_by: Literal["source", "line"]
    validation_share: Share
    test_share: Share

    @model_validator(mode="after")
    def leaves_some(self) -> Self:
        """Something must be left to train on."""
        if (held_out := self.validation_share + self.test_share) >= 1:
            raise ValueError(f"the two shares must sum to less than 1, got {held_out:g}")
        return self

    def carved(self) -> list[str]:
        """The parts that are to be carved."""
        shares = {VALIDATION: self.validation_share, TEST: self.test_share}
        return [part for part, share in shares.items() if share]


def check_shares(splitting: Splitting, brought: Collection[str], where: str) -> None:
    """Nothing, where the section at `where` carves what the corpus does not bring, and no more.

    Raises: ParamsError naming each share that is not as it should be.
    """
    faults = []
    has = {VALIDATION: VALIDATION in brought, TEST: any(is_test(part) for part in brought)}
    for part, there in has.items():
        share = getattr(splitting, f"{part}_share")
        if there and share:
            faults.append(f"{where}.{part}_share: the corpus brings a {part} part, got {share:g}; expected 0.0")
        if not there and not share:
            faults.append(f"{where}.{part}_share: the corpus brings no {part} part, got 0; expected above 0")
    if faults:
        raise ParamsError("\n".join(faults))


def carve(pairs: Iterable[Pair], splitting: Splitting) -> Iterator[tuple[str, Pair]]:
    """Each pair with the part it belongs to, a function of the section and of its folded source (or its line).

    The hash is a number from 0 to 1: below test_share lies test, above it as much as validation_share is validation,
    all else train. So pairs of equal source stay together, and the share of validation moves no pair of test.
    """
    place_of = hashing(splitting)
    test = int(splitting.test_share * 2**64)
    held_out = test + int(splitting.validation_share * 2**64)
    for line, pair in enumerate(pairs):
        place = place_of(line, pair)
        yield TEST if place < test else VALIDATION if place < held_out else TRAIN, pair


def hashing(splitting: Splitting) -> Callable[[int, Pair], int]:
    """What turns a line's number and its pair into 64 bits."""
    if splitting.carve_by == "line":
        return lambda line, pair: 2 * seed_for(splitting.seed, "carve", line)
    salt = seed_for(splitting.seed, "carve").to_bytes(8, "little")
    return lambda line, pair: int.from_bytes(digest(folded(pair[0]), salt), "little")


def hold_out(pairs: Iterable[Pair], splitting: Splitting, where: str) -> dict[str, list[Pair]]:
    """The parts to be carved, in memory; none, and `pairs` not read, where the corpus brings them all.

    Raises: ParamsError naming each share of the section at `where` that is too small to carve a pair.
    """
    held_out: dict[str, list[Pair]] = {part: [] for part in splitting.carved()}
    if not held_out:
        return {}
    total = 0
    for total, (part, pair) in enumerate(carve(pairs, splitting), 1):  # noqa: B007 (the message needs the count)
        if part != TRAIN:
            held_out[part].append(pair)
    faults = [
        f"{where}.{part}_share: carves no pair from {total}, got {getattr(splitting, f'{part}_share'):g}; "
        "expected a larger share"
        for part, found in held_out.items()
        if not found
    ]
    if faults:
        raise ParamsError("\n".join(faults))
    return held_out


def remaining_pairs(pairs: Iterable[Pair], splitting: Splitting) -> Iterator[Pair]:
    """The pairs that `hold_out` leaves to train on."""
    if not splitting.carved():
        return iter(pairs)
    return (pair for part, pair in carve(pairs, splitting) if part == TRAIN)
