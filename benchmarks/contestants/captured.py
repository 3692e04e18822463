"""This project's Transformers as CUDA graphs of compiled layers, for micro-batches of few shapes: a trial.

A GPU computes the kernels of a Transformer more quickly than Python launches them, and most are sums, masks and
conversions between two matrix products, each of which reads and writes the GPU's memory. A compiled layer has few of
them; a graph launches all kernels at once.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from pipeline import ids
from pipeline.encoding.batching import Batch, BatchSampler, Indices
from pipeline.encoding.padding import cuts

Action = Callable[[], None]


def round_up(lengths: Indices) -> Indices:
    """The next multiple of 2 up to 16, of 4 up to 64, of 8 above: (N,) -> (N,)."""
    step = np.where(lengths <= 16, 2, np.where(lengths <= 64, 4, 8))
    return -(-lengths // step) * step


class FewShapesSampler(BatchSampler):
    """Cuts micro-batches so that they are within the budget after `fill`, too."""

    def cut(self, pairs: Indices) -> list[Indices]:
        """The pairs in micro-batches of at most `tokens_per_batch` positions, lengths rounded up."""
        longest = round_up(np.maximum(self.source[pairs], self.target[pairs]))
        return [pairs[begin:end] for begin, end in cuts(longest.tolist(), self.training.tokens_per_batch)]


def fill(batch: Batch, tokens_per_batch: int) -> Batch:
    """Pad a micro-batch to one of few shapes: `round_up` for lengths, eighths of what the budget holds for sentences.

    Added sentences are empty: the source has its EOS, the target input its BOS, and no target counts.
    """
    (sentences, source), target = batch.source.shape, batch.target_input.shape[1]
    source, target = round_up(np.array([source, target])).tolist()
    most = max(sentences, tokens_per_batch // max(source, target))
    eighth = -(-most // 8)
    rows = max(2, min(most, -(-sentences // eighth) * eighth))  # a compiler treats 1 as a case of its own

    def larger(ids_: Tensor, length: int, first: int) -> Tensor:
        out = ids_.new_full((rows, length), ids.PAD)
        out[sentences:, 0] = first
        out[:sentences, : ids_.shape[1]] = ids_
        return out

    output = larger(batch.target_output, target, ids.PAD)
    non_padding = torch.from_numpy(np.flatnonzero(output.numpy() != ids.PAD))
    filled = larger(batch.source, source, ids.EOS), larger(batch.target_input, target, ids.BOS), output
    return Batch(*filled, non_padding, batch.pairs)


class Capturer(Protocol):
    """`CudaGraphs`, or what stands in for it on a CPU."""

    seconds: float  # that its captures took

    def capture(self, actions: Sequence[Action]) -> list[Action]:
        """Run these functions in turn; return a function for each that repeats it, with new random numbers."""
        ...


class CudaGraphs:
    """Captures functions. All graphs share memory, so what shall outlive a replay is copied to tensors outside.

    Memory is shared among graphs of one stream only.
    """

    def __init__(self) -> None:
        self.pool, self.stream, self.seconds = torch.cuda.graph_pool_handle(), torch.cuda.Stream(), 0.0

    def capture(self, actions: Sequence[Action]) -> list[Action]:
        """Warm up, which compiles, then capture each function."""
        torch.cuda.synchronize()
        began = time.perf_counter()
        with torch.cuda.stream(self.stream):
            for action in actions:
                action()
        torch.cuda.synchronize()
        replays = [self.capture_one(action) for action in actions]
        self.seconds += time.perf_counter() - began
        return replays

    def capture_one(self, action: Action) -> Action:
        """The replay of one function."""
        graph = torch.cuda.CUDAGraph()
        # thread_local: another thread pins memory meanwhile.
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            action()
        return graph.replay


class CapturedHidden:
    """Stands in for a Transformer's `hidden`: with gradients, a capture for each shape; without, `hidden` itself.

    Its result holds until the next call, and its gradient must be taken before that. `first` is the shape (B, S, T) for
    which the layers are compiled: the compiler's code depends on the first shape that it sees.
    """

    def __init__(self, model: Any, capturer: Capturer, first: tuple[int, int, int], *, compiled: bool) -> None:
        self.plain, self.capturer, self.first = model.hidden, capturer, first
        layers = [*model.encoder, *model.decoder]
        self.forwards = [(layer, compile_forward(layer) if compiled else layer.forward) for layer in layers]
        self.weights = list(model.parameters())
        self.buffers = list(model.buffers())  # graphs read these, also once a longer table has taken their place
        self.gradients: list[Tensor | None] = [torch.empty_like(one, requires_grad=False) for one in self.weights]
        self.captures: dict[tuple[torch.Size, torch.Size], Capture] = {}
        self.space = torch.empty(2, 0, device=self.weights[0].device)  # of a result and its gradient, of any shape

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Shapes: (B, S), (B, T) -> (B, T, D)."""
        if not torch.is_grad_enabled():
            out: Tensor = self.plain(source, target_input)
            return out
        if not self.captures:
            sentences, *lengths = self.first
            self.find_capture(*(source.new_full((sentences, length), ids.EOS) for length in lengths))
        capture = self.find_capture(source, target_input)
        capture.source.copy_(source)
        capture.target_input.copy_(target_input)
        # What torch.autograd.Function gives as `apply` has no types.
        replayed: Tensor = Replay.apply(capture, *self.weights)  # type: ignore[no-untyped-call]
        return replayed

    def find_capture(self, source: Tensor, target_input: Tensor) -> "Capture":
        """The capture for this shape, made on first use. The random generators stay as they are."""
        key = source.shape, target_input.shape
        if key not in self.captures:
            devices = [source.device] if source.device.type == "cuda" else []
            with torch.random.fork_rng(devices), forwards_replaced(self.forwards):
                self.captures[key] = Capture(self, source, target_input)
        return self.captures[key]

    def reserve_space(self, result: Tensor) -> Tensor:
        """A place for a result and its gradient, which captures share: (B, T, D) -> (2, B, T, D), fp32."""
        if self.space.shape[1] < result.numel():
            self.space = torch.zeros(2, result.numel(), device=result.device)
        return self.space[:, : result.numel()].view(2, *result.shape)


class Capture:
    """Forward and backward for one shape, and the tensors that they read and write."""

    def __init__(self, owner: CapturedHidden, source: Tensor, target_input: Tensor) -> None:
        self.owner = owner
        self.source, self.target_input = source.clone(), target_input.clone()
        self.result: Tensor | None = None  # with its autograd graph, from forward to backward
        self.space: Tensor | None = None
        self.forward, self.backward = owner.capturer.capture((self.compute, self.differentiate))

    def compute(self) -> None:
        """Write the result. No cast of a weight may be cached, as autocast would do: later it would be stale."""
        kind = self.source.device.type
        dtype, enabled = torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind)
        with torch.enable_grad(), torch.autocast(kind, dtype=dtype, enabled=enabled, cache_enabled=False):
            self.result = self.owner.plain(self.source, self.target_input)
        if self.space is None:
            self.space = self.owner.reserve_space(self.result)
        self.space[0].copy_(self.result.detach())

    def differentiate(self) -> None:
        """Write the gradients of the weights, given that of the result."""
        assert self.result is not None
        assert self.space is not None
        result, self.result = self.result, None
        owner = self.owner
        found = torch.autograd.grad(result, owner.weights, self.space[1].to(result.dtype), allow_unused=True)
        pairs = zip(owner.gradients, found, strict=True)
        owner.gradients = [place if new is not None else None for place, new in pairs]
        places = [place for place in owner.gradients if place is not None]
        torch._foreach_copy_(places, [new for new in found if new is not None])


class Replay(torch.autograd.Function):
    """What a capture computes, and the gradients of the weights."""

    @staticmethod
    def forward(ctx: Any, capture: Capture, *weights: Tensor) -> Tensor:
        ctx.capture = capture
        capture.forward()
        assert capture.space is not None
        return capture.space[0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        capture: Capture = ctx.capture
        assert capture.space is not None
        capture.space[1].copy_(grads[0])
        capture.backward()
        return None, *capture.owner.gradients


def compile_forward(layer: nn.Module) -> Callable[..., Any]:
    """The layer's `forward`, compiled at its first call for any shape, without autotuning."""
    return torch.compile(layer.forward, dynamic=True, fullgraph=True, options={"deterministic": True})


@contextmanager
def forwards_replaced(forwards: Sequence[tuple[nn.Module, Callable[..., Any]]]) -> Iterator[None]:
    """Inside, each layer has the given `forward`."""
    for layer, forward in forwards:
        layer.forward = forward
    try:
        yield
    finally:
        for layer, _ in forwards:
            del layer.forward
