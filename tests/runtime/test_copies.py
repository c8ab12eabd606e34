"""A step of the forest copies numbers to the device once and back once: each copy waits for the device.

Counted on any device, from the calls of Python that would wait for a GPU, whether gridc's or transformers'.
"""

import hashlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.engines.protocol import Call
from gridc.schema.spec import EngineSettings

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch.overrides import TorchFunctionMode  # noqa: E402

from gridc.runtime.engines.hf import forest  # noqa: E402
from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from gridc.runtime.engines.hf.sampling import branch  # noqa: E402
from tests.runtime import zoo  # noqa: E402

MODELS = Path(gridc.__file__).parent / "builtin" / "models"
TO_HOST = (
    *(
        "item",
        "tolist",
        "cpu",
        "numpy",
        "nonzero",
        "argwhere",
        "masked_select",
        "unique",
        "equal",
        "allclose",
    ),
    *("__bool__", "__int__", "__float__", "__index__", "__array__", "__contains__", "__format__", "__repr__"),
    *("is_nonzero", "bincount", "unique_consecutive", "repeat_interleave"),
)
TO_DEVICE = ("tensor", "as_tensor", "asarray", "from_numpy", "cuda")


def waits(name: str, arguments: tuple[Any, ...]) -> tuple[int, int]:
    """Copies to the host and to the device that a function of torch makes where the device is a GPU."""
    if name in ("__getitem__", "__setitem__"):
        index = arguments[1] if type(arguments[1]) is tuple else (arguments[1],)
        return sum(map(asks_the_device, index)), sum(isinstance(each, list | range) for each in index)
    if name == "where":
        return int(len(arguments) == 1), 0
    return int(name in TO_HOST), int(name in TO_DEVICE)


def asks_the_device(index: Any) -> bool:
    """Whether a part of an index is a mask, or a slice up to a number that only the device knows."""
    if isinstance(index, slice):
        return any(isinstance(each, torch.Tensor) for each in (index.start, index.stop, index.step))
    return isinstance(index, torch.Tensor) and index.dtype == torch.bool


class Copies(TorchFunctionMode):
    """Counts copies to the host and to the device."""

    def __init__(self) -> None:
        super().__init__()
        self.to_host, self.to_device = 0, 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        host, device = waits(getattr(function, "__name__", ""), args)
        self.to_host, self.to_device = self.to_host + host, self.to_device + device
        return function(*args, **(kwargs or {}))


SOME = torch.arange(4.0)
PROBES: dict[str, tuple[Callable[[], Any], tuple[int, int]]] = {
    "item": (lambda: SOME[1].item(), (1, 0)),
    "tolist": (lambda: SOME.tolist(), (1, 0)),
    "cpu": (lambda: SOME.cpu(), (1, 0)),
    "numpy": (lambda: SOME.numpy(), (1, 0)),
    "bool": (lambda: bool(SOME[1]), (1, 0)),
    "if": (lambda: 1 if (SOME >= 0).all() else 0, (1, 0)),
    "int": (lambda: int(SOME.max()), (1, 0)),
    "float": (lambda: float(SOME.max()), (1, 0)),
    "slice up to a number of the device": (lambda: SOME[: SOME[2].long()], (1, 0)),
    "nonzero": (lambda: SOME.nonzero(), (1, 0)),
    "nonzero by name": (lambda: torch.nonzero(SOME), (1, 0)),
    "where": (lambda: torch.where(SOME > 1), (1, 0)),
    "where of three": (lambda: torch.where(SOME > 1, SOME, 0.0), (0, 0)),
    "read by a mask": (lambda: SOME[SOME > 1], (1, 0)),
    "written by a mask": (lambda: SOME.clone().__setitem__(SOME > 1, SOME[:2]), (1, 0)),
    "tensor": (lambda: torch.tensor([1, 2], device=SOME.device), (0, 1)),
    "as_tensor": (lambda: torch.as_tensor([1, 2], device=SOME.device), (0, 1)),
    "read by a list": (lambda: SOME[[0, 2]], (0, 1)),
    "read by a list and a slice": (lambda: SOME[None][:, [0, 2]], (0, 1)),
    "written by a list": (lambda: SOME.clone().__setitem__([0, 2], 1.0), (0, 1)),
    "equal": (lambda: torch.equal(SOME, SOME), (1, 0)),
    "read by numbers": (lambda: SOME[1:3][0], (0, 0)),
    "computed": (lambda: (SOME * 2).softmax(-1).topk(2), (0, 0)),
    "made there": (lambda: torch.arange(3, device=SOME.device), (0, 0)),
}


@pytest.mark.parametrize("probe", PROBES)
def test_each_kind_of_copy_is_counted(probe: str) -> None:
    act, expected = PROBES[probe]
    with Copies() as copies:
        act()
    assert (copies.to_host, copies.to_device) == expected


KINDS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "sampled": {"temperature": 1.0, "top_p": 1.0},
    "from a nucleus": {"temperature": 1.0, "top_p": 0.5},
    "from a large nucleus": {"temperature": 9.0, "top_p": 0.9},
    "ranked": {"continuations": ["The Vintel sat", "The Dapper", "Nobody knows it"]},
}


def calls(kind: str) -> list[Call]:
    """Calls on prompts that share a beginning. Answers part on the way and are of several lengths."""
    made = []
    for number in range(12):
        text = f"Who sang at the market, and what is {number % 4}?"
        prompt = Prompt((("user", text),), chat_template=False)
        call = hashlib.sha256(f"{kind} {number}".encode()).hexdigest()
        asked = KINDS[kind]
        if kind != "ranked":
            asked = {**asked, "max_tokens": 5 + 3 * (number % 4)}
        made.append(Call(call, "loglikelihood" if kind == "ranked" else "generate", prompt, asked))
    return made


# Copies to the host and to the device in each step. A nucleus is asked for the rows whose few most likely
# tokens do not hold it, and where there are some, for its size.
STEPS: dict[tuple[str, ...], tuple[int, int]] = {
    ("greedy",): (1, 1),
    ("sampled",): (1, 2),
    ("from a nucleus",): (2, 2),
    ("from a large nucleus",): (3, 2),
    ("ranked",): (1, 2),
    ("greedy", "sampled", "ranked"): (1, 3),
}


@pytest.mark.parametrize("kinds", STEPS, ids=" and ".join)
def test_a_step_copies_once_to_the_device_and_once_back(
    kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step chooses a token for every member and computes what comes after it."""
    engine = HfEngine("m", MODELS / "pocket-llama", "fp32", EngineSettings(device=zoo.DEVICE, threads=1))
    (batch,) = engine.batches([call for kind in kinds for call in calls(kind)])
    engine.effective()
    copies, marks = Copies(), list[tuple[int, int]]()

    def marked(*arguments: Any) -> Any:
        marks.append((copies.to_host, copies.to_device))
        return branch(*arguments)

    monkeypatch.setattr(forest, "branch", marked)
    with copies:
        engine.answer(batch, frozenset(batch.calls))
    steps = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(marks)]
    assert len(steps) > 3
    assert min(steps) >= (1, 1)
    assert tuple(map(max, zip(*steps, strict=True))) == STEPS[kinds]
