"""CUDA graphs: what a GPU computes for a micro-batch is recorded once for each shape, and then replayed.

A Transformer is thousands of kernels, and Python launches them more slowly than a GPU computes them; a graph launches
all of them at once. It repeats the very same kernels, so results are the same to the bit, whatever is replayed.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

Action = Callable[[], None]
FREE_SHARE = 0.15  # of a GPU's memory: with less, no more shapes are recorded


class Recorder(Protocol):
    """`CudaGraphs`, or what stands in for it in a test on a CPU."""

    def has_room(self) -> bool:
        """Whether memory for another recording is left."""
        ...

    def record(self, actions: Sequence[Action]) -> list[Action]:
        """A function for each of these that repeats it, with new random numbers. They may run meanwhile."""
        ...


class CudaGraphs:
    """Records functions. All graphs share memory, so what shall outlive a replay is copied to tensors outside.

    Source: torch's notes, "CUDA semantics", section "CUDA Graphs".
    """

    def __init__(self) -> None:
        # Memory is shared among graphs of one stream only.
        self.pool, self.stream, self.is_warm = torch.cuda.graph_pool_handle(), torch.cuda.Stream(), False

    def has_room(self) -> bool:
        """Whether `FREE_SHARE` of the GPU's memory is free."""
        free, total = torch.cuda.mem_get_info()
        return free > FREE_SHARE * total

    def record(self, actions: Sequence[Action]) -> list[Action]:
        """The replay of each. The first time, they run before: libraries set themselves up, which no graph may hold."""
        torch.cuda.synchronize()
        if not self.is_warm:
            with torch.cuda.stream(self.stream):
                for action in actions:
                    action()
            torch.cuda.synchronize()
            self.is_warm = True
        return [self.record_one(action) for action in actions]

    def record_one(self, action: Action) -> Action:
        """The replay of one function."""
        graph = torch.cuda.CUDAGraph()
        # thread_local: another thread pins memory meanwhile.
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            action()
        return graph.replay


class ReplayedHidden:
    """Stands in for a network's `hidden`: a shape is computed as ever when it is first seen in training, then recorded.

    Without gradients it is `hidden` itself. With them, its result holds until the next call, and its gradient must be
    taken before that.
    """

    def __init__(self, model: Any, recorder: Recorder) -> None:
        self.plain, self.recorder = model.hidden, recorder
        self.weights = list(model.parameters())
        self.buffers = list(model.buffers())  # graphs read these, also once a longer table has taken their place
        self.gradients: list[Tensor | None] = [torch.empty_like(one, requires_grad=False) for one in self.weights]
        self.seen: set[tuple[torch.Size, torch.Size]] = set()
        self.recordings: dict[tuple[torch.Size, torch.Size], Recording] = {}
        self.space = torch.empty(2, 0, device=self.weights[0].device)  # of a result and its gradient, of any shape
        self.width = 0  # of a result, once one was computed

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Shapes: (B, S), (B, T) -> (B, T, D)."""
        recording = self.find(source, target_input) if torch.is_grad_enabled() else None
        if recording is None:
            out: Tensor = self.plain(source, target_input)
            self.width = out.shape[2]
            return out
        recording.source.copy_(source)
        recording.target_input.copy_(target_input)
        replayed: Tensor = Replay.apply(recording, *self.weights)
        return replayed

    def find(self, source: Tensor, target_input: Tensor) -> "Recording | None":
        """The recording of this shape; made when it is seen again, if there is room. Random generators stay as is."""
        key = source.shape, target_input.shape
        if key not in self.recordings and key in self.seen and self.recorder.has_room():
            devices = [source.device] if source.device.type == "cuda" else []
            with torch.random.fork_rng(devices):
                self.recordings[key] = Recording(self, source, target_input)
        self.seen.add(key)
        return self.recordings.get(key)

    def reserve(self, shape: torch.Size) -> Tensor:
        """A place for a result of this shape and its gradient, which recordings share: -> (2, ...), fp32."""
        if self.space.shape[1] < shape.numel():
            self.space = torch.zeros(2, shape.numel(), device=self.space.device)
        return self.space[:, : shape.numel()].view(2, *shape)


class Recording:
    """Forward and backward for one shape, and the tensors that they read and write."""

    def __init__(self, owner: ReplayedHidden, source: Tensor, target_input: Tensor) -> None:
        self.owner = owner
        self.source, self.target_input = source.clone(), target_input.clone()
        self.space = owner.reserve(torch.Size((*target_input.shape, owner.width)))
        self.result: Tensor | None = None  # with its autograd graph, from forward to backward
        self.forward, self.backward = owner.recorder.record((self.compute, self.differentiate))

    def compute(self) -> None:
        """Write the result. No cast of a weight may be cached, as autocast would do: later it would be stale."""
        kind = self.source.device.type
        dtype, enabled = torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind)
        with torch.enable_grad(), torch.autocast(kind, dtype=dtype, enabled=enabled, cache_enabled=False):
            self.result = self.owner.plain(self.source, self.target_input)
        self.space[0].copy_(self.result.detach())

    def differentiate(self) -> None:
        """Write the gradients of the weights, given that of the result. As ever in backward, without autocast."""
        assert self.result is not None
        result, self.result = self.result, None
        owner = self.owner
        with torch.autocast(result.device.type, enabled=False):
            found = torch.autograd.grad(result, owner.weights, self.space[1].to(result.dtype), allow_unused=True)
        pairs = zip(owner.gradients, found, strict=True)
        owner.gradients = [place if new is not None else None for place, new in pairs]
        places = [place for place in owner.gradients if place is not None]
        torch._foreach_copy_(places, [new for new in found if new is not None])


class Replay(torch.autograd.Function):
    """What a recording computes, and the gradients of the weights."""

    @staticmethod
    def forward(ctx: Any, recording: Recording, *weights: Tensor) -> Tensor:
        ctx.recording = recording
        recording.forward()
        return recording.space[0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        recording: Recording = ctx.recording
        recording.space[1].copy_(grads[0])
        recording.backward()
        return None, *recording.owner.gradients


def replay_hidden(model: Any, recorder: Recorder | None = None) -> ReplayedHidden:
    """Let a network that `is_recordable` replay its `hidden` while it trains; its weights stay where they are."""
    hidden = ReplayedHidden(model, recorder or CudaGraphs())
    model.hidden = hidden
    return hidden
