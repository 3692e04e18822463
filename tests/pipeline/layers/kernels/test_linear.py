"""x W^T + b, cut into products of few sizes or prepacked, and its gradients are those of the plain product."""

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from pipeline.layers.kernels.dispatch import linear
from pipeline.layers.kernels.linear import Bf16Linear
from pipeline.layers.kernels.prepacked import can_prepack, prepacked_linear
from tests.toys.networks import needs_bf16_products

D, WIDTH = 24, 70
DTYPES = [torch.float32, pytest.param(torch.bfloat16, marks=needs_bf16_products)]
needs_prepacking = pytest.mark.skipif(not can_prepack(torch.empty(1, 1)), reason="torch is built without oneDNN")


def given(*shape, bias=True):
    """x, W and b that want gradients."""
    torch.manual_seed(1)
    x, weight = torch.randn(*shape, D), torch.randn(WIDTH, D)
    return [tensor.requires_grad_() for tensor in (x, weight, *([torch.randn(WIDTH)] if bias else []))]


def plain_linear(x, weight, bias):
    """The twin of `Bf16Linear`: what autocast makes of `F.linear`."""
    return F.linear(x.bfloat16(), weight.bfloat16(), None if bias is None else bias.bfloat16())


def results(function, tensors):
    """The product and the gradient of every tensor, in fp64."""
    out = function(*tensors, *([None] if len(tensors) < 3 else []))
    torch.manual_seed(2)
    gradients = torch.autograd.grad(out, tensors, torch.randn(out.shape).to(out.dtype))
    assert [gradient.dtype for gradient in gradients] == [tensor.dtype for tensor in tensors]
    return [tensor.detach().double() for tensor in (out, *gradients)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1,), (63,), (64,), (256,), (257,), (512,), (3, 233), (0, 5)])
def test_kernel_and_twin_agree(shape, bias):
    tensors = given(*shape, bias=bias)
    for ours, theirs in zip(results(Bf16Linear.apply, tensors), results(plain_linear, tensors), strict=True):
        assert ours.shape == theirs.shape
        largest = max([1.0, *theirs.abs().flatten().tolist()])
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0.01 * largest)


class Sizes(TorchDispatchMode):
    """The sizes of all products of two matrices."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.addmm_):
            self.seen.add(tuple(tuple(tensor.shape) for tensor in args[-2:]))
        return operation(*args, **(kwargs or {}))


def test_few_sizes_for_many_numbers_of_rows():
    with Sizes() as sizes, torch.autocast("cpu", torch.bfloat16):
        for number in range(1, 1501, 7):
            x, weight, bias = given(number)
            linear(x, weight, bias).sum().backward()
    # Of x, its gradient and W's: 256, 512 ... 1,280 rows, and 64, 128, 192 and 256, and none.
    assert len(sizes.seen) <= 3 * (5 + 4)


@needs_prepacking
@torch.no_grad()
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("with_bias", [True, False])
def test_prepacked_products_are_the_plain_ones(with_bias, dtype):
    torch.manual_seed(1)
    weight, bias = torch.randn(WIDTH, D), torch.randn(WIDTH) if with_bias else None
    multiply, tolerance = prepacked_linear(weight, bias, dtype), 1e-5 if dtype == torch.float32 else 2**-7
    for shape in ((1, D), (300, D), (5, 7, D), (0, D)):
        x = torch.randn(shape)
        rounded = (None if one is None else one.to(dtype).float() for one in (x, weight, bias))
        torch.testing.assert_close(multiply(x), F.linear(*rounded), rtol=tolerance, atol=tolerance)


@needs_prepacking
@torch.no_grad()
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_of_a_prepacked_product_is_the_same_in_any_company(set_threads, dtype):
    set_threads(1)  # as a search does for each of its batches
    x, weight, bias = torch.randn(700, 256), torch.randn(2000, 256), torch.randn(2000)
    multiply = prepacked_linear(weight, bias, dtype)
    whole = multiply(x)
    for some in (slice(0, 1), slice(3, 8), slice(100, 700)):
        assert torch.equal(multiply(x[some]), whole[some])
