"""Attention in parts: each part is softmax attention, and the parts join to the whole."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")
attention = pytest.importorskip("gridc.runtime.engines.hf.attention")


def tensors(keys: int) -> Any:
    generator = torch.Generator().manual_seed(keys)
    return [torch.randn(2, 3, length, 16, generator=generator) for length in (5, keys, keys)]


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_the_fused_kernel_and_the_spelled_out_one_agree(hide: bool, causal: bool) -> None:
    if hide and causal:
        pytest.skip("no level is both")
    query, key, value = tensors(5)
    hidden = torch.zeros(2, 1, 1, 5).masked_fill(torch.arange(5) > 2, -torch.inf) if hide else None
    for one, other in zip(
        attention.attention(query, key, value, attention.Softmax(0.3), hidden, causal),
        attention.plain_attention(query, key, value, attention.Softmax(0.3), hidden, causal),
        strict=True,
    ):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("width", [16, 64, 128, 256])
@pytest.mark.parametrize("form", ["whole", "causal", "hidden"])
def test_the_kernels_of_a_gpu_are_as_near_to_the_exact_values_as_their_numbers_are(
    form: str, width: int
) -> None:
    generator = torch.Generator().manual_seed(width)
    size = 37
    exact = [torch.randn(3, 2, size, width, generator=generator).bfloat16() for _ in range(3)]
    query, key, value = (part.cuda() for part in exact)
    hidden = None
    if form == "hidden":
        hidden = torch.zeros(3, 1, 1, size).masked_fill(torch.arange(size) > 20, -torch.inf)
    softmax = attention.Softmax(width**-0.5)
    mixed, total = attention.attention(
        query, key, value, softmax, None if hidden is None else hidden.cuda(), form == "causal"
    )
    right, whole = attention.plain_attention(
        *(part.double() for part in exact), softmax, hidden, form == "causal"
    )
    assert torch.allclose(total.cpu(), whole.float(), atol=1e-3)
    assert torch.allclose(mixed.cpu().double(), right, atol=2e-2)


def test_parts_join_to_attention_over_everything() -> None:
    query, key, value = tensors(30)
    parts = [
        attention.attention(query, key[:, :, some], value[:, :, some], attention.Softmax(0.3))
        for some in (slice(0, 7), slice(7, 8), slice(8, 30))
    ]
    whole = torch.softmax(query @ key.transpose(-1, -2) * 0.3, dim=-1) @ value
    assert torch.allclose(attention.join(parts, attention.Softmax(0.3)), whole, atol=1e-5)


class Layer(torch.nn.Module):  # type: ignore[misc, name-defined]
    layer_idx = 0


class Echo:
    """A view that mixes nothing."""

    def attend(self, layer: int, query: Any, key: Any, value: Any, softmax: Any) -> Any:
        return query


@pytest.mark.parametrize(
    "wants", [{"dropout": 0.1}, {"whatever": 0}, {"is_causal": False}, {"position_bias": 1.0}]
)
def test_attention_that_wants_more_than_softmax_is_refused(wants: dict[str, Any]) -> None:
    query = torch.zeros(1, 2, 3, 4)
    with pytest.raises(attention.UnsupportedAttention):
        attention.attend(Layer(), query, query, query, None, scaling=1.0, **wants)
    with pytest.raises(attention.UnsupportedAttention):
        attention.attend(Layer(), query, query, query, torch.zeros(1), scaling=1.0)


def test_what_changes_nothing_is_let_through() -> None:
    query = torch.arange(24.0).view(1, 2, 3, 4)
    with attention.viewing(Echo(), torch.arange(4)):
        mixed, _ = attention.attend(
            Layer(), query, query, query, None, 1.0, position_ids=query, output_router_logits=False
        )
    assert torch.equal(mixed, query.transpose(1, 2))
