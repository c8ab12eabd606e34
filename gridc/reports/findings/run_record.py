"""The record of a run, read once, and the findings in it, each computed once when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeVar, cast

import numpy as np
from pydantic import TypeAdapter

from gridc.compiler.compile import Compiled
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.registry import Registry
from gridc.reports.findings.item_counts import readings_of
from gridc.reports.findings.noise import Floors, ModelNoise, floors_of, model_noise
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.scores import CellScore, cell_scores, item_outcomes
from gridc.runtime.store.reader import Progress
from gridc.runtime.store.store import Store

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


FINDINGS: Registry[Finding[Any]] = Registry("gridc.reports.findings")


@dataclass(frozen=True, eq=False)
class Finding(Generic[T_co]):
    """What can be asked of a record: its name, what computes it (and asks the record for others that it
    needs), and what stands in `Findings` where nobody asked for it. One with a type `recorded` is computed
    from the text of items or from other studies of the store: a report notes it, so that it can be taken from
    there where these are not. One that
    is made is registered, and is part of every report unless it is computed `on_request` alone. `about` says
    in a sentence what is found, where the docstring of what computes it does not."""

    name: str
    compute: Callable[[RunRecord], T_co]
    absent: T_co | None = None
    recorded: Any = None
    on_request: bool = False
    about: str = ""

    def __post_init__(self) -> None:
        FINDINGS.add(self.name)(self)

    def as_json(self, found: Any) -> str:
        """As it is recorded: as a text, since an event sorts the keys of what it holds."""
        return TypeAdapter(self.recorded).dump_json(found).decode()

    def from_json(self, content: Any) -> T_co:
        """As it was recorded; until 0.2.0 no text."""
        adapter = TypeAdapter(self.recorded)
        read = adapter.validate_json if isinstance(content, str) else adapter.validate_python
        return cast(T_co, read(content))


def reported() -> tuple[Finding[Any], ...]:
    """What every report holds."""
    return tuple(finding for finding in FINDINGS.values() if not finding.on_request)


class RunRecord:
    """A stamped study and its store, complete or not; what is `known` is taken as given. Raises `StoreError`
    when the store holds no run of it, or another plan under its stamp."""

    def __init__(
        self, compiled: Compiled, store: Store, known: Mapping[Finding[Any], Any] | None = None
    ) -> None:
        self.store: Store = store
        self.lock: Lock | None = compiled.lock
        self.plan: Plan = Plan(compiled.study)
        store.require(self.plan.study_digest)
        self.progress: Progress = store.progress(self.plan.study_digest)
        stored = item_outcomes(self.plan.cells(), store, self.plan.study_digest)
        for key, count in compiled.study.credited.items():
            of_items = np.array([count.get(item, 0) for item in stored[key].items], np.int64)
            stored[key] = replace(stored[key], credited=of_items)
        self.scores: list[CellScore] = cell_scores(self.plan, stored)
        self.samples = Samples(
            self.plan,
            stored,
            partial(readings_of, store, self.plan.study_digest),
            partial(store.responses_of, self.plan.study_digest),
        )
        self._computed = dict(known or {})

    def __getitem__(self, finding: Finding[T]) -> T:
        if finding not in self._computed:
            self._computed[finding] = finding.compute(self)
        return cast(T, self._computed[finding])

    @property
    def complete(self) -> bool:
        return self.progress.complete

    @cached_property
    def noise(self) -> tuple[ModelNoise, ...]:
        if self.plan.study.recorded is not None:
            return ()  # what another package asked was never asked again
        return model_noise(self.plan, self.store.noise())

    @cached_property
    def floors(self) -> Floors:
        return floors_of(self.noise)
