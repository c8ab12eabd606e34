"""No last bit decides: documents are the same whatever a processor makes of the last digits."""

import functools
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridc.statistics
from gridc.statistics.clustered_logit import Jackknife
from tests.recount.studies import corners, graded
from tests.recount.test_inference import study as curves
from tests.reports.documents import documents, tied

SIZE = 1e-12
EXACT = {"reproducibility", "case_totals"}
"""Modules that draw, sort and count rows: whole numbers and their quotients are the same everywhere."""
COUNTED = {"sign_flips", "curve"}
"""Modules whose zeros are counts."""

DIGEST = re.compile(r"(?<![.0-9])[0-9a-f]{12,64}")
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)")
LONG = re.compile(r"\.\d{7,}")


class Noise:
    """Moves every float by a relative `SIZE` up or down, and one that is 0 by a part of 1e-17. One of
    ten digits stays."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def on(self, value: Any, zeros: bool) -> Any:
        if isinstance(value, float):
            if value == 0:
                return float(self._random.random()) * 1e-17 if zeros else value
            settled = float(f"{value:.10g}") == value
            return value if settled else value * (1 + SIZE * float(self._random.choice((-1, 1))))
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            moved = value * (1 + SIZE * self._random.choice((-1, 1), value.shape))
            return np.where(np.round(value, 10) == value, value, moved)
        if isinstance(value, tuple | list):
            parts = [self.on(part, zeros) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, dict):
            return {name: self.on(part, zeros) for name, part in value.items()}
        if is_dataclass(value) and not isinstance(value, type) and _is_statistic(value):
            return replace(
                value, **{each.name: self.on(getattr(value, each.name), zeros) for each in fields(value)}
            )
        return value

    def after(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with noise in what it gives."""
        zeros = function.__module__.rpartition(".")[2] not in COUNTED

        @functools.wraps(function)
        def noisy(*given: Any, **named: Any) -> Any:
            found = function(*given, **named)
            if inspect.isgenerator(found):
                return (self.on(each, zeros) for each in found)
            return self.on(found, zeros)

        return noisy


def _is_statistic(value: object) -> bool:
    return type(value).__module__.startswith("gridc.statistics.")


def public_functions() -> Iterator[Callable[..., Any]]:
    for module in pkgutil.iter_modules(gridc.statistics.__path__):
        if module.name in EXACT:
            continue
        held = importlib.import_module(f"gridc.statistics.{module.name}")
        for name, value in vars(held).items():
            own = getattr(value, "__module__", None) == held.__name__
            if (
                own
                and not name.startswith("_")
                and (inspect.isfunction(value) or hasattr(value, "cache_info"))
            ):
                yield value


def make_noisy(patch: pytest.MonkeyPatch, seed: int) -> int:
    """Put noise behind every public function of the statistics, wherever it was imported; how many places."""
    noise, places = Noise(seed), 0
    noisy = {id(function): (function, noise.after(function)) for function in public_functions()}
    for module in [held for name, held in sys.modules.items() if name.startswith("gridc")]:
        for name, value in list(vars(module).items()):
            function, replaced = noisy.get(id(value), (None, None))
            if function is value and replaced is not None:
                patch.setattr(module, name, replaced)
                places += 1
    for name in ("combination", "joint", "known"):
        patch.setattr(Jackknife, name, noise.after(getattr(Jackknife, name)))
    return places


def same_but_for_noise(one: str, other: str) -> bool:
    """Whether two documents are one text, digests aside, in which numbers of seven decimals and more agree
    to eight digits: noise of `SIZE` can move the tenth by itself. Rounding them again would part two that
    lie on either side of a tie."""
    parts = [NUMBER.split(DIGEST.sub("#", document)) for document in (one, other)]
    return len(parts[0]) == len(parts[1]) and all(
        a == b or (LONG.search(f"{a} {b}") is not None and isclose(float(a), float(b), rel_tol=1e-8))
        for a, b in zip(*parts, strict=True)
    )


STUDIES: dict[str, Callable[[Path], object]] = {"tied": tied, "graded": graded, "corners": corners}


def same_with_noise(spec: Path, seeds: range) -> None:
    plain = documents(spec)
    assert len(plain) > 15
    for seed in seeds:
        with pytest.MonkeyPatch.context() as patch:
            assert make_noisy(patch, seed) > 150
            moved = documents(spec)
        assert plain.keys() == moved.keys()
        assert [name for name in plain if not same_but_for_noise(plain[name], moved[name])] == [], seed


@pytest.mark.parametrize("name", ["tied", "graded"])
def test_noise_in_every_statistic_moves_no_document(name: str, tmp_path: Path) -> None:
    STUDIES[name](tmp_path)
    same_with_noise(tmp_path / "gridcard.toml", range(1))


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_no_seed_of_it_does(name: str, tmp_path: Path) -> None:
    STUDIES[name](tmp_path)
    same_with_noise(tmp_path / "gridcard.toml", range(1, 5))


@pytest.mark.slow
def test_nor_does_it_move_curves(study: tuple[Path, Any]) -> None:
    same_with_noise(study[0] / "gridcard.toml", range(4))


study = curves
