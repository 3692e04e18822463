"""Marks for tests of what only some processors have."""

import pytest
import torch

needs_bf16_products = pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()),
    reason="oneDNN has no products in bf16 for this processor",
)
