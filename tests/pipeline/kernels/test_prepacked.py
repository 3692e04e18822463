"""Prepacked products are torch's own, and those of a row do not depend on the rows beside it."""

import pytest
import torch
from torch.nn import functional as F

from pipeline.kernels.prepacked import can_prepack, prepacked_linear
from tests.toys.processors import needs_bf16_products

pytestmark = pytest.mark.skipif(not can_prepack(torch.empty(1, 1)), reason="torch is built without oneDNN")


@torch.no_grad()
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), pytest.param(torch.bfloat16, 2**-7, marks=needs_bf16_products)]
)
@pytest.mark.parametrize("with_bias", [True, False])
def test_kernel_and_twin_agree(with_bias, dtype, tolerance):
    torch.manual_seed(1)
    weight, bias = torch.randn(70, 24), torch.randn(70) if with_bias else None
    multiply = prepacked_linear(weight, bias, dtype)
    for shape in ((1, 24), (300, 24), (5, 7, 24), (0, 24)):
        x = torch.randn(shape)
        found = multiply(x)
        given = (None if one is None else one.to(dtype).float() for one in (x, weight, bias))
        torch.testing.assert_close(found, F.linear(*given), rtol=tolerance, atol=tolerance)


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.bfloat16, marks=needs_bf16_products)])
def test_a_row_is_the_same_in_any_company(set_threads, dtype):
    set_threads(1)  # as a search does for each of its batches
    x, weight, bias = torch.randn(700, 256), torch.randn(2000, 256), torch.randn(2000)
    multiply = prepacked_linear(weight, bias, dtype)
    whole = multiply(x)
    for some in (slice(0, 1), slice(3, 8), slice(100, 700)):
        assert torch.equal(multiply(x[some]), whole[some])
