"""Keys and values of the positions before, in a search: buffers in which each step writes its own.

Where each sentence has one row the buffers stay where they are: a row that leaves keeps its place until many places are
idle. The rows of a beam are continued in any order, so that theirs are copied at each step.

In a state of a search `place` (N,) says where each row has its keys and values; as long as it is the very tensor
`past.order` the rows stand in order, and none of the places is idle. `past.steps` (on the CPU) counts the steps, and
`past.<layer>.keys` and `past.<layer>.values` (P, H, C, K) are P places with room for C steps.
"""

from typing import NamedTuple

import torch
from torch import Tensor

State = dict[str, Tensor]

ROOM = 16  # steps that the first buffers have room for
IDLE = 8  # buffers move together once more than one in so many places is idle


class Turn(NamedTuple):
    """Where a step writes and looks, the same in all layers."""

    position: int  # of the step, from 0
    places: int  # P
    place: Tensor | None  # (N,) of each row; None where they are in order and none is idle

    def write(self, table: Tensor, new: Tensor) -> None:
        """Put what each row adds into its place: table (P, H, C, K), new (N, H, 1, K)."""
        table[slice(None) if self.place is None else self.place, :, self.position] = new[:, :, 0]

    def written(self, table: Tensor) -> Tensor:
        """What was written of all positions: (P, H, C, K) -> (P, H, T, K)."""
        return table[:, :, : self.position + 1]

    def spread(self, x: Tensor) -> Tensor:
        """What belongs to each row, at its place: (N, ...) -> (P, ...)."""
        if self.place is None:
            return x
        out = x.new_zeros(self.places, *x.shape[1:])
        out[self.place] = x
        return out

    def gathered(self, x: Tensor) -> Tensor:
        """What stands at each row's place: (P, ...) -> (N, ...)."""
        return x if self.place is None else x.index_select(0, self.place)


def begun(sentences: int, device: torch.device) -> State:
    """What a state knows before the first step, but for the buffers, which begin without room."""
    order = torch.arange(sentences, device=device)
    return {"place": order, "past.order": order, "past.steps": torch.tensor(0)}


def extended(state: State, *, alone: bool) -> tuple[State, Turn]:
    """The state with room for one more step, and where that step writes and looks. Without gradient.

    `alone`: each sentence has one row, so that no two rows share a place. States share buffers with those that they
    were selected or extended from: once one is extended, all else that follows on the same one is no longer good.
    """
    buffers = [name for name in state if name.startswith("past.") and name.endswith((".keys", ".values"))]
    place, steps = state["place"], int(state["past.steps"])
    places, _, capacity, _ = state[buffers[0]].shape
    if not alone or steps == capacity or (places - len(place)) * IDLE > places:
        if not alone:
            capacity = steps + 1  # they will be copied before there is another
        elif steps == capacity:
            capacity = max(2 * capacity, ROOM)
        state = state | {name: moved(state[name], place, steps, capacity) for name in buffers}
        places, place = len(place), torch.arange(len(place), device=place.device)
        state = state | {"place": place, "past.order": place}
    turn = Turn(steps, places, None if place is state["past.order"] else place)
    return state | {"past.steps": state["past.steps"] + 1}, turn


def moved(table: Tensor, place: Tensor, steps: int, capacity: int) -> Tensor:
    """The first steps of some places, and room behind: (P, H, C, K), (N,) -> (N, H, capacity, K)."""
    larger = table.new_empty(len(place), table.shape[1], capacity, table.shape[3])
    torch.index_select(table[:, :, :steps], 0, place, out=larger[:, :, :steps])
    return larger
