"""Whether the prompts of a task are those of its package, byte for byte.

A task file has the digest of what its package itself would send for each item, in each form. Here the same
digest is made of what a plan sends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gridc.compiler.grid.cells import Cell, cells_of
from gridc.compiler.instrument.setting import DEFAULTS, Setting
from gridc.compiler.lowering.calls import PlannedSample
from gridc.compiler.lowering.plan import Plan
from gridc.numbers import counted
from gridc.schema.canonical import canonical, digest_bytes
from gridc.schema.spec import Benchmark


@dataclass(frozen=True, slots=True)
class PromptProof:
    """How many prompts of a benchmark are its package's, of how many in the `configurations` that ask as the
    package does, by the digests of a task `file`. `first` names an item whose prompt is another. `others`
    counts the configurations that ask otherwise, because the study says so, and `unknown` those in a form of
    which the file has no digest."""

    benchmark: str
    package: str
    file: str
    equal: int
    compared: int
    configurations: int
    others: int
    unknown: int
    first: str | None = None

    def __str__(self) -> str:
        """`6 of 6 prompts are lm_eval 0.4.13's to the byte, as tasks/x.json has them, in ...`."""
        text = f"no prompt can be compared with those that {self.file} has of {self.package}"
        if self.compared:
            where = counted(self.configurations, "configuration")
            whose = f"{self.package}'s to the byte, as {self.file} has them"
            text = f"{self.equal:,} of {self.compared:,} prompts are {whose}, in {where}"
        if self.first is not None:
            text += f" (another is that of {self.first})"
        if self.others:
            verb = "asks" if self.others == 1 else "ask"
            text += f"; {counted(self.others, 'configuration')} {verb} otherwise, as the study says"
        if self.unknown:
            text += f"; of {counted(self.unknown, 'configuration')} the file has no prompts"
        return text


def prompt_proofs(plan: Plan) -> Iterator[PromptProof]:
    """A proof for each benchmark that is a task."""
    for benchmark in plan.study.spec.benchmark:
        here = plan.study.items.get(benchmark.id)
        if here is None or not here.source.prompts:
            continue
        alike: dict[tuple[object, ...], list[Cell]] = {}
        for cell in cells_of(plan.study.spec):
            if cell.benchmark == benchmark.id:
                alike.setdefault(_sending(cell.setting), []).append(cell)
        own, others, unknown = set[LevelNames](), set[LevelNames](), set[LevelNames]()
        compared, equal, first = 0, 0, None
        for cells in alike.values():
            configurations = {tuple(cell.levels.values()) for cell in cells}
            known = {item: forms.get(_form(cells[0].setting)) for item, forms in here.source.prompts.items()}
            same = {
                sample.item.id: digest_bytes(canonical(_sent(sample))) == known[sample.item.id]
                for sample in plan.samples_once(cells[0])
                if known[sample.item.id] is not None
            }
            stated = _asks_as_stated(cells[0].setting, benchmark)
            if not same:
                (unknown if stated else others).update(configurations)
            elif not stated and not all(same.values()):
                others.update(configurations)
            else:
                own |= configurations
                compared, equal = compared + len(same), equal + sum(same.values())
                first = first or next((item for item, is_equal in same.items() if not is_equal), None)
        package, (file, *_) = str(here.source.task["package"]), here.source.files
        yield PromptProof(
            benchmark.id, package, file, equal, compared, len(own), len(others), len(unknown), first
        )


LevelNames = tuple[str, ...]


def _sending(setting: Setting) -> tuple[object, ...]:
    """Equal for settings that send the same texts."""
    ranked = (setting.ranked_candidates, setting.continuation_delimiter) if setting.ranks else ()
    return setting.shown, ranked


def _form(setting: Setting) -> str:
    """How its prompts are sent, by the name of the form in a task file."""
    if not setting.chat_template:
        return str(setting.shots)
    return f"{setting.shots}:{'chat' if setting.exemplars_as == 'text' else 'turns'}"


_FREE = ("shots", "chat_template", "exemplars_as", "items", "overflow", "candidates")
"""Keys that shape a prompt and that a package varies too, or that choose among prompts."""


def _asks_as_stated(setting: Setting, benchmark: Benchmark) -> bool:
    """Whether the prompts have the words of the task: no key that shapes them says anything else."""
    free: dict[str, Any] = {key: DEFAULTS.get(key) for key in _FREE}
    stated = {key: getattr(benchmark, key) for key in _PROMPT_KEYS}
    own: dict[str, Any] = {key: value for key, value in stated.items() if value is not None}
    task = Setting(**{"prompt": "", "method": setting.method, **own})
    asked, alike = (replace(each.shown, **free, method="extract") for each in (setting, task))
    return asked == alike


_PROMPT_KEYS = ("prompt", "options", "option_order", "separators")


def _sent(sample: PlannedSample) -> list[Any]:
    """The requests of a sample as a task file has them: with each text that is weighed, or alone."""
    requests = sample.requests if sample.item.contexts else sample.requests[:1]
    asked: list[Any] = []
    for request in requests:
        prompt = request.prompt
        messages = [[role, text] for role, text in prompt.messages]
        context = canonical(messages).decode() if prompt.chat_template else prompt.plain
        weighed = _weighed(request.parameters)
        asked += [context] if weighed is None else [[context, text] for text in weighed]
    return asked


def _weighed(parameters: Mapping[str, Any]) -> list[str] | None:
    return parameters.get("continuations")
