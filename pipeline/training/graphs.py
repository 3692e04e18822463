"""CUDA graphs: what a GPU computes for a micro-batch is captured once for each shape, and then replayed.

A Transformer is thousands of kernels, and Python launches them more slowly than a GPU computes them; a graph launches
all of them at once. It repeats the very same kernels, so replayed or not, results are meant to be the same to the bit.
"""

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..console.progress import console

Action = Callable[[], None]


class ReplayedHidden:
    """Stands in for the `hidden` of a network that `is_capturable`, whose weights stay where they are.

    A shape is computed as ever when it is first seen in training, then captured.

    Without gradients it is `hidden` itself. With them, its result holds until the next call, and its gradient must be
    taken before that.
    """

    def __init__(self, network: Any, capturer: "CudaGraphs") -> None:
        self.buffers, self.capturer = GraphBuffers(network), capturer
        self.seen: set[tuple[Any, ...]] = set()
        self.captures: dict[tuple[Any, ...], Capture] = {}

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Shapes: (B, S), (B, T) -> (B, T, D)."""
        capture = self.find(source, target_input) if torch.is_grad_enabled() else None
        if capture is None:
            return self.buffers.hidden(source, target_input)
        capture.source.copy_(source)
        capture.target_input.copy_(target_input)
        replayed: Tensor = Replay.apply(capture, *self.buffers.weights)
        return replayed

    def find(self, source: Tensor, target_input: Tensor) -> "Capture | None":
        """The capture for this shape; made when it is seen again, if there is room. Random generators stay as is."""
        kind = source.device.type
        modes = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind), self.buffers.network().training
        key = source.shape, target_input.shape, *modes
        if key not in self.captures and key in self.seen and self.capturer.has_room():
            with torch.random.fork_rng([source.device] if kind == "cuda" else []):
                self.captures[key] = Capture(self.buffers, self.capturer, source, target_input)
        self.seen.add(key)
        return self.captures.get(key)


class GraphBuffers:
    """The weights of a network and the tensors outside of its graphs, shared by all captures.

    A weak reference to the network, so that deleting it frees its graphs.
    """

    def __init__(self, network: Any) -> None:
        self.network: Any = weakref.ref(network)  # whoever calls its `hidden` keeps it
        self.weights = list(network.parameters())
        self.gradients: list[Tensor | None] = [torch.empty_like(weight, requires_grad=False) for weight in self.weights]
        self.space = torch.empty(2, 0, device=self.weights[0].device)  # of a result and its gradient, of any shape
        self.width = 0  # of a result, once one was computed

    def hidden(self, source: Tensor, target_input: Tensor) -> Tensor:
        """The network's own `hidden`: (B, S), (B, T) -> (B, T, D)."""
        network = self.network()
        out: Tensor = type(network).hidden(network, source, target_input)
        self.width = out.shape[2]
        return out

    def reserve(self, sentences: int, length: int) -> Tensor:
        """A place for a result and its gradient: -> (2, B, T, D), fp32. Earlier captures keep the place they had."""
        size = sentences * length * self.width
        if self.space.shape[1] < size:
            self.space = torch.zeros(2, size, device=self.space.device)
        return self.space[:, :size].view(2, sentences, length, self.width)


class Capture:
    """Forward and backward for one shape, and the tensors that they read and write."""

    def __init__(self, buffers: GraphBuffers, capturer: "CudaGraphs", source: Tensor, target_input: Tensor) -> None:
        self.buffers = buffers
        self.source, self.target_input = source.clone(), target_input.clone()
        # Graphs read these, also once a longer table has taken their place.
        self.tables = list(buffers.network().buffers())
        self.space = buffers.reserve(*target_input.shape)
        self.result: Tensor | None = None  # with its autograd graph, from `compute` to `differentiate`
        self.forward, self.backward = capturer.capture(self.compute, self.differentiate)

    def compute(self) -> None:
        """Write the result. No cast of a weight may be cached, as autocast would do: later it would be stale."""
        kind = self.source.device.type
        autocast = partial(torch.autocast, kind, dtype=torch.get_autocast_dtype(kind), cache_enabled=False)
        with torch.enable_grad(), autocast(enabled=torch.is_autocast_enabled(kind)):
            self.result = self.buffers.hidden(self.source, self.target_input)
        self.space[0].copy_(self.result.detach())

    def differentiate(self) -> None:
        """Write the gradients of the weights, given that of the result. As ever in backward, without autocast."""
        assert self.result is not None
        result, self.result = self.result, None
        with torch.autocast(result.device.type, enabled=False):
            gradient = self.space[1].to(result.dtype)
            gradients = torch.autograd.grad(result, self.buffers.weights, gradient, allow_unused=True)
        slots = self.buffers.gradients
        slots[:] = [slot if new is not None else None for slot, new in zip(slots, gradients, strict=True)]
        used = [slot for slot in slots if slot is not None]
        torch._foreach_copy_(used, [new for new in gradients if new is not None])


class Replay(torch.autograd.Function):
    """Runs a capture. Autograd copies the gradients of the weights, because they are kept here."""

    @staticmethod
    def forward(ctx: Any, capture: Capture, *weights: Tensor) -> Tensor:
        ctx.capture = capture
        capture.forward()
        return capture.space[0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        capture: Capture = ctx.capture
        capture.space[1].copy_(grads[0])
        capture.backward()
        return None, *capture.buffers.gradients


class CudaGraphs:
    """Captures functions. All graphs share memory, so what shall outlive a replay is copied to tensors outside.

    Source: torch's notes, "CUDA semantics", section "CUDA Graphs".
    """

    def __init__(self) -> None:
        # Memory is shared among graphs of one stream only.
        self.pool, self.stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()
        self.is_warm = self.is_full = False

    def has_room(self) -> bool:
        """Whether twice as much memory is free as the largest micro-batch took; once it is not, never again.

        A capture may take as much as a micro-batch, and the next one of a new shape needs as much beside it.
        """
        needed = 2 * torch.cuda.max_memory_allocated()
        if not self.is_full and torch.cuda.mem_get_info()[0] < needed:
            torch.cuda.empty_cache()
            self.is_full = torch.cuda.mem_get_info()[0] < needed
            if self.is_full:
                console.print("no GPU memory is left to capture further shapes of batches: they are computed as ever")
        return not self.is_full

    def capture(self, *actions: Action) -> list[Action]:
        """The replay of each. The first time, they run before: libraries set themselves up, which no graph may hold."""
        torch.cuda.synchronize()
        if not self.is_warm:
            with torch.cuda.stream(self.stream):
                for action in actions:
                    action()
            torch.cuda.synchronize()
            self.is_warm = True
        replays: list[Action] = []
        for action in actions:
            graph = torch.cuda.CUDAGraph()
            # thread_local: another thread pins memory meanwhile.
            with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
                action()
            replays.append(graph.replay)
        return replays
