"""A run to compare: what was asked and what came of it, whoever ran it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from gridc.compiler.inputs.questions import QuestionDigests
from gridc.outcomes import CellOutcomes
from gridc.schema.policy import Aspect
from gridc.statistics.direction import Direction

READING: tuple[Aspect, str] = ("score", "reading")
"""The setting of a configuration that names the metric, filter or scorer that counts."""


@dataclass(frozen=True)
class RunItems:
    """The items of a run, one after the other: `keys` by content, a digest of what is asked that is equal in
    two runs where the same is asked by one package; the `ids` there, the `units` that they belong to, and
    what they ask as every package would have it."""

    keys: tuple[str, ...]
    ids: tuple[str, ...]
    units: tuple[str, ...]
    questions: tuple[QuestionDigests, ...]

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each is, by its key."""
        return {key: place for place, key in enumerate(self.keys)}


@dataclass(frozen=True, slots=True)
class RunBenchmark:
    """One model on one benchmark. `unit` names what is independent: `item`, or what several items were made
    from. `cells` has what its `items` came to by configuration, and `settings` are by configuration, and of
    each by (aspect, key). `prompt_texts` gives the digest of each prompt's text by the digest that its
    answers have, where those are of something else.

    An item that another run has and this one lacks failed here; not so where all that was `planned` is here,
    whatever became of it, and where it has the score of what is `unlisted`. `total` is how many items the
    benchmark has, where the run says; `anchor` the configuration that its report leads with."""

    direction: Direction
    unit: str
    items: RunItems
    cells: Mapping[str, CellOutcomes]
    settings: Mapping[str, Mapping[tuple[Aspect, str], object]] = field(default_factory=dict)
    prompt_texts: Callable[[], Mapping[str, str]] | None = None
    planned: bool = False
    unlisted: float | None = None
    total: int | None = None
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerTexts:
    """What an item's first answer in a configuration was: the prompt and the text, None where it has none."""

    prompt: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run to compare, which `package` asked and scored. `benchmarks` are by (model, benchmark). `facts` are
    of the whole run, or of a model, by (aspect, path); `unknown` says what it does not record. `finished`
    says whether every answer is there, None where nothing says so; `warnings` are said before any number.
    `texts(model, benchmark, configuration, item id)` reads one. `bare` names what the run has a score and no
    items of, by (model, benchmark)."""

    name: str
    made_by: str
    finished: bool | None
    benchmarks: Mapping[tuple[str, str], RunBenchmark]
    facts: Mapping[tuple[Aspect, str], object]
    unknown: tuple[str, ...]
    texts: Callable[[str, str, str, str], AnswerTexts]
    warnings: tuple[str, ...] = ()
    package: str = "gridc"
    bare: tuple[tuple[str, str], ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(model for model, _ in (*self.benchmarks, *self.bare)))

    def under(self, benchmark: str) -> "ComparedRun":
        """With its only benchmark under another name."""
        (own,) = {name for _, name in self.benchmarks}
        texts = self.texts
        return replace(
            self,
            benchmarks={(model, benchmark): run for (model, _), run in self.benchmarks.items()},
            facts={
                (aspect, path.replace(f"].{own}.", f"].{benchmark}.")): value
                for (aspect, path), value in self.facts.items()
            },
            texts=lambda model, _, configuration, item: texts(model, own, configuration, item),
            warnings=(*self.warnings, f"its only benchmark, {own}, stands as {benchmark}"),
        )
