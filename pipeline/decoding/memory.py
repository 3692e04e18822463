"""Nearest neighbours: a network that looks up training pairs while it translates, those most like the source.

Before each piece its hidden vector is compared with those at all places in these pairs. What follows at near places
gains probability. Nothing is trained.
"""

import copy
import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from pipeline import ids
from pipeline.decoding.beam import log_probabilities, stable_topk
from pipeline.decoding.products import whole_vectors
from pipeline.decoding.settings import Decoding
from pipeline.encoding.occurrences import Occurrences, positions
from pipeline.encoding.padding import pad
from pipeline.encoding.shards import Encoded
from pipeline.models import interface

BLOCK = 16  # pairs that the network reads at a time
MAX_KEPT = 1 << 20  # positions whose hidden vectors are kept


@dataclass(frozen=True)
class Recollection:
    """What a network remembers for one source: the K positions of its pairs."""

    hidden: Tensor  # (K, D)
    pieces: Tensor  # (K,) that follow there

    @cached_property
    def squares(self) -> Tensor:
        """The mean of the squared units of each position, which every step needs: (K,)."""
        return (self.hidden**2).mean(dim=1)

    def probabilities(self, hidden: Tensor, temperature: float, num_pieces: int) -> Tensor:
        """Of every piece, that it follows: the positions count by exp(-d^2 / temperature), d^2 a mean over the units.

        Shapes: hidden (W, D) -> (W, V).
        """
        squares = self.squares - hidden @ self.hidden.T * (2 / hidden.shape[1])  # and |hidden|^2, the same for all
        weights = torch.softmax(-squares / temperature, dim=1)
        found, pieces = torch.zeros(len(hidden), num_pieces, device=hidden.device), self.pieces.expand(len(hidden), -1)
        if hidden.device.type == "cpu":
            return found.scatter_add_(1, pieces, weights)
        rows = torch.arange(len(hidden), device=hidden.device)[:, None].expand_as(pieces)
        return found.index_put_((rows, pieces), weights, accumulate=True)  # always in one order, unlike the above


@dataclass(frozen=True)
class MemoryState:
    """The network's own state, and what it remembers for each sentence."""

    network: interface.DecoderState
    sentences: tuple[Recollection, ...]

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> Self:
        """`DecoderState.select`."""
        kept = self.sentences if sentences is None else tuple(self.sentences[index] for index in sentences.tolist())
        return type(self)(self.network.select(rows, sentences), kept)


class WithMemory(nn.Module):
    """A network, as a search uses it, whose probabilities are mixed with those of what follows in like training pairs.

    Of each source it looks up the `memory_pairs` pairs whose sources are most like it: by the cosine of which pieces
    they have, rare ones counting more.

    Source: Khandelwal et al. 2021, Nearest neighbor machine translation; pairs by source as Dai et al. 2023, Simple
        and scalable nearest neighbor machine translation. They compare what the last feed-forward network reads, and
        use only the nearest few places; in the second the weight falls with the distance.
    """

    def __init__(self, network: Any, pairs: "Pairs", decoding: Decoding, num_pieces: int) -> None:
        super().__init__()
        self.network: Any
        self.network, self.pairs, self.decoding, self.num_pieces = network, pairs, decoding, num_pieces

    def start(self, source: Tensor) -> MemoryState:
        """The state before the first step, one row per sentence of (B, S)."""
        network = self.network
        nearest = self.pairs.nearest(source.cpu().numpy(), self.decoding.memory_pairs)
        found = {rows: self.pairs.recollect(rows, network) for rows in set(nearest)}  # a source may be there many times
        return MemoryState(network.start(source), tuple(found[rows] for rows in nearest))

    def step(self, state: MemoryState, tokens: Tensor) -> tuple[Tensor, MemoryState]:
        """What the output projection reads, and beside it the probabilities by memory: (N,) -> (N, D + V), next state.

        Each sentence is compared by itself, from the beginning of a tensor, so that its result does not depend on the
        others: MKL also rounds by how memory is aligned.
        """
        hidden, after = self.network.step(state.network, tokens)
        rows = hidden.split(len(hidden) // len(state.sentences))
        temperature, size = self.decoding.memory_temperature, self.num_pieces
        every = zip(state.sentences, rows, strict=True)
        found = [one.probabilities(part.clone(), temperature, size) for one, part in every]
        return torch.cat((hidden, torch.cat(found)), dim=1), MemoryState(after, state.sentences)

    def logits(self, hidden: Tensor) -> Tensor:
        """The logarithm of the mixed probability of every target piece: (N, D + V) -> (N, V)."""
        own, remembered = hidden.split((hidden.shape[1] - self.num_pieces, self.num_pieces), dim=1)
        network, weight = self.network, self.decoding.memory_weight
        log_p = log_probabilities(network.logits(own).float()).add_(math.log(1 - weight))
        mixed = whole_vectors(torch.log, whole_vectors(torch.exp, log_p) + weight * remembered)
        return torch.where(remembered > 0, mixed, log_p)  # that of others never becomes log 0


class Pairs:
    """Training pairs of 1 to `max_pieces` pieces on each side, found by their sources; copies of a network share them.

    The hidden vectors of a block of pairs are computed when one of them is first needed. Which pairs make a block
    depends on nothing else, so the results of `InvariantSearch` do not depend on what was translated before.
    """

    def __init__(self, encoded: Encoded, num_pieces: int, max_pieces: int) -> None:
        fits = (encoded.source.lengths <= max_pieces) & (encoded.target.lengths <= max_pieces)
        rows = np.flatnonzero(fits & (encoded.source.lengths > 0) & (encoded.target.lengths > 0))
        self.source, self.target = ([side[row] for row in rows.tolist()] for side in (encoded.source, encoded.target))
        self.occurrences = Occurrences.of(*positions(encoded.source, rows), num_pieces, len(rows))
        self.weights = self.occurrences.rarity**2
        self.norms = self.occurrences.sums_of_pieces(self.weights[:, None]).sqrt_()
        order = np.lexsort((encoded.source.lengths[rows], encoded.target.lengths[rows]))
        self.order: list[int] = order.tolist()  # of like length, so that a block has little padding
        self.places: list[int] = np.argsort(order).tolist()  # of each pair in `order`
        self.kept: OrderedDict[int, list[Recollection]] = OrderedDict()
        self.num_kept, self.lock = 0, threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def without_cache(self) -> Self:
        """A copy with an empty cache of hidden vectors."""
        found = copy.copy(self)
        found.kept, found.num_kept, found.lock = OrderedDict(), 0, threading.Lock()
        return found

    def nearest(self, source: np.ndarray, number: int) -> list[tuple[int, ...]]:
        """The `number` pairs most like each source, the most alike first; of equals the first in the corpus.

        Shapes: source (B, S), padded.
        """
        asked = torch.zeros(len(self.weights), len(source))
        for column, row in enumerate(source):
            asked[torch.from_numpy(row[row > ids.EOS]), column] = 1
        scores = self.occurrences.sums_of_pieces(asked * self.weights[:, None]) / self.norms.clamp(min=1e-6)
        return [tuple(found.tolist()) for found in stable_topk(scores.T.contiguous(), min(number, len(scores)))[1]]

    def recollect(self, pairs: Sequence[int], network: Any) -> Recollection:
        """Every position of these pairs."""
        places = [divmod(self.places[pair], BLOCK) for pair in pairs]
        found = [self.block(number, network)[index] for number, index in places]
        return Recollection(torch.cat([one.hidden for one in found]), torch.cat([one.pieces for one in found]))

    def block(self, number: int, network: Any) -> list[Recollection]:
        """The pairs of a block, computed or still kept."""
        with self.lock:
            if number in self.kept:
                self.kept.move_to_end(number)
                return self.kept[number]
        found = self.computed(self.order[number * BLOCK : (number + 1) * BLOCK], network)
        with self.lock:
            if number not in self.kept:  # by another search meanwhile
                self.kept[number] = found
                self.num_kept += sum(len(one.pieces) for one in found)
            while self.num_kept > MAX_KEPT and len(self.kept) > 1:
                _, dropped = self.kept.popitem(last=False)
                self.num_kept -= sum(len(one.pieces) for one in dropped)
        return found

    def computed(self, pairs: Sequence[int], network: Any) -> list[Recollection]:
        """Hidden vectors and next pieces at every position of the targets, given the true pieces before."""
        device = next(network.parameters()).device
        source = pad([self.source[pair] for pair in pairs], after=(ids.EOS,))
        targets = [self.target[pair] for pair in pairs]
        hidden = network.hidden(source.to(device), pad(targets, before=(ids.BOS,)).to(device)).float()
        following = pad(targets, after=(ids.EOS,)).to(device)
        ends = [len(target) + 1 for target in targets]
        return [Recollection(hidden[row, :end].clone(), following[row, :end]) for row, end in enumerate(ends)]
