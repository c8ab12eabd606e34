"""Bounds the rounding error of attention in two-byte numbers, by the same forest in fp32.

The forest in fp32 is proved, but other code computes bf16 and fp16: kernels that never hold the scores. So a
forest decodes twice, first in fp32 and then in that type, and in every pass each layer is asked with the same
queries, keys and values, rounded to the type. The second time a layer hands on what it gave the first time,
so that no error grows on its way through the model, and no router takes another expert. What is left is what
attention in this type gets wrong, by rounding or by a score, a mask, a row or a position that is another one.

It is measured in steps of the type at the size of the values: the root mean square of the error of a token's
mixed values, over that of the values and the distance from 1 to the next number. To round a result costs
0.29 of a step (1 / sqrt(12)).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from gridc.runtime.engines.hf.attention import AttentionMask, Softmax
from gridc.runtime.engines.hf.forest import Forest
from gridc.runtime.engines.hf.kv_cache import Shape

MOST_STEPS = 0.7
"""By how many steps a token may err at most. Of 125 architectures of transformers, in bf16 and fp16 on a CPU,
the worst token errs by 0.57, and with scores times 1.01 by 0.76 or more wherever scores decide anything."""


def worst_rounding(model: Any, shape: Shape, dtype: torch.dtype, decode: Callable[[Forest], object]) -> float:
    """The largest error of a token in any layer, in steps of `dtype`, of a model in fp32 whose keys and
    values have this shape, when `decode` has its forest compute. NaN where something is not a number. Raises
    `ValueError` where other tokens are computed than in fp32."""
    right: list[torch.Tensor] = []
    errors: list[torch.Tensor] = []

    def remember(mixed: torch.Tensor) -> torch.Tensor:
        right.append(mixed)
        return mixed

    def compare(mixed: torch.Tensor) -> torch.Tensor:
        wanted = right[len(errors)]
        error, size = (part.flatten(1).square().mean(-1).sqrt() for part in (mixed.float() - wanted, wanted))
        errors.append(error / (size * torch.finfo(dtype).eps).clamp(min=torch.finfo(torch.float32).tiny))
        return wanted

    for kept, hand_on in ((torch.float32, remember), (dtype, compare)):
        decode(_RoundedForest(model, replace(shape, dtype=kept), dtype, hand_on))
    if len(errors) != len(right):
        raise ValueError(f"{len(errors)} layers attend where {len(right)} do in fp32")
    return float(torch.cat(errors).max())  # NaN is larger than any number


class _RoundedForest(Forest):
    """A forest whose layers are asked with numbers of a type, and hand on what is made of their answers."""

    def __init__(
        self, model: Any, shape: Shape, dtype: torch.dtype, hand_on: Callable[[torch.Tensor], torch.Tensor]
    ) -> None:
        super().__init__(model, shape)
        self._dtype, self._hand_on = dtype, hand_on

    def _pass(self, view: AttentionMask, *others: Any) -> torch.Tensor:
        return super()._pass(_Rounded(view, self._dtype, self._shape.dtype, self._hand_on), *others)


@dataclass(frozen=True, slots=True)
class _Rounded:
    """A view of queries, keys and values that are numbers of `dtype`, and that it `keeps` in another type."""

    view: AttentionMask
    dtype: torch.dtype
    keeps: torch.dtype
    hand_on: Callable[[torch.Tensor], torch.Tensor]

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, softmax: Softmax
    ) -> torch.Tensor:
        asked, keys, values = (part.to(self.dtype).to(self.keeps) for part in (query, key, value))
        return self.hand_on(self.view.attend(layer, asked, keys, values, softmax)).to(query.dtype)
