"""Cut into products of few sizes, x W^T + b is the same, and so are its gradients."""

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from pipeline.kernels.dispatch import linear
from pipeline.kernels.linear import plain_linear

D, WIDTH = 24, 70


def given(*shape, bias=True):
    """x, W and b that want gradients."""
    torch.manual_seed(1)
    x, weight = torch.randn(*shape, D), torch.randn(WIDTH, D)
    return [tensor.requires_grad_() for tensor in (x, weight, *([torch.randn(WIDTH)] if bias else []))]


def results(function, tensors):
    """What comes out and the gradient of every tensor, in fp64."""
    out = function(*tensors, *([None] if len(tensors) < 3 else []))
    torch.manual_seed(2)
    gradients = torch.autograd.grad(out, tensors, torch.randn(out.shape).to(out.dtype))
    assert [gradient.dtype for gradient in gradients] == [tensor.dtype for tensor in tensors]
    return [tensor.detach().double() for tensor in (out, *gradients)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1,), (64,), (257,), (512,), (3, 233), (0, 5)])
def test_the_kernel_is_near_its_twin_and_the_product_in_fp64(shape, bias):
    tensors = given(*shape, bias=bias)
    with torch.autocast("cpu", torch.bfloat16):
        kernels = results(linear, tensors)
    twins = results(plain_linear, tensors)
    exact = results(F.linear, [tensor.detach().double().requires_grad_() for tensor in tensors])
    for ours, twin, expected in zip(kernels, twins, exact, strict=True):
        atol = 0.01 * max([1.0, *expected.abs().flatten().tolist()])
        torch.testing.assert_close(ours, expected, rtol=0, atol=atol)
        torch.testing.assert_close(ours, twin, rtol=0, atol=atol)


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


def test_elsewhere_it_is_torchs_own():
    tensors = given(300)
    assert all(torch.equal(*pair) for pair in zip(results(linear, tensors), results(F.linear, tensors), strict=True))
