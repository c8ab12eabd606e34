"""Tasks of other packages: which task files a spec needs, where they lie, and what they add to the spec.

A benchmark whose `loader` reads a task says neither how its items are asked nor how they are scored: the
task file does (`schema.tasks`). It lies beside the spec, under a name that tells which task it is of and for
which numbers of exemplars it was made. What is missing is made by `inputs.task_files`, not here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid.configurations import T, effect_tables, with_effects
from gridc.diagnostics.errors import Diagnostic, KeyPath, SpecError
from gridc.files import is_there
from gridc.schema.base import PLUGIN
from gridc.schema.canonical import digest_bytes
from gridc.schema.effects import BenchmarkEffects
from gridc.schema.items import Exemplars
from gridc.schema.spec import TASK, Benchmark, Spec
from gridc.schema.tasks import TaskFile

FOLDER = "tasks"
SEED = 1234
"""What lm_eval draws exemplars by, unless it is told another seed."""

_HARNESS_FIRST = ("shots", "chat_template")
"""What a task states and `[harness]` overrides: how many exemplars there are, and whether there is a chat,
are choices of a study."""


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A task as a study asks for it. `shots` are the numbers of exemplars that the study states, and `own`
    says whether the task's own number is asked for too."""

    loader: str
    reference: str
    shots: tuple[int, ...]
    own: bool
    seed: int

    @property
    def name(self) -> str:
        """What its package calls it: a registered name, or a file beside the spec."""
        return self.reference.partition(":")[2]

    @property
    def beside(self) -> bool:
        """Whether it is a file beside the spec, which anyone may have written."""
        return not self.reference.startswith(TASK)

    def path(self, folder: Path) -> Path:
        """Where its task file lies, beside a spec in this folder."""
        stem = quote(re.sub(r"\.ya?ml$", "", self.name), safe="")
        if self.loader.startswith(PLUGIN):
            stem = f"{self.loader.removeprefix(PLUGIN)}.{stem}"
        stated = [*(["own"] if self.own and self.shots else []), *map(str, self.shots)]
        shots = f".shots-{'-'.join(stated)}" if stated else ""
        seed = "" if self.seed == SEED else f".seed-{self.seed}"
        return folder / FOLDER / f"{stem}{shots}{seed}.json"


@dataclass(frozen=True, slots=True)
class TaskCode:
    """The files that a task beside a spec is made of, with one digest of them all."""

    names: tuple[str, ...]
    sha256: str
    needs_consent: bool = True

    @property
    def pair(self) -> str:
        """What consent to it names."""
        return f"sha256:{self.sha256}"

    def __str__(self) -> str:
        return f"{', '.join(self.names)} ({self.pair}): a task, whose templates and functions run as programs"


def task_requests(spec: Spec) -> dict[str, TaskRequest]:
    """The tasks that a spec asks for, by benchmark."""
    return {each.id: _request(spec, each) for each in spec.benchmark if each.is_task}


def _request(spec: Spec, benchmark: Benchmark) -> TaskRequest:
    tables = [
        table.table
        for table in effect_tables(spec)
        if table.where.get("benchmark", benchmark.id) == benchmark.id
    ]
    stated = {shots for table in tables if (shots := getattr(table, "shots", None)) is not None}
    varied = any(all(level.shots is not None for level in axis.level) for axis in spec.axis)
    own = not (varied or spec.harness.shots is not None or benchmark.shots is not None)
    seed = SEED if benchmark.exemplars is None else benchmark.exemplars.seed
    return TaskRequest(benchmark.loader, benchmark.source, tuple(sorted(stated)), own, seed)


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A task file as it lies beside the spec: its name there, the SHA-256 of its bytes, and what it holds."""

    name: str
    sha256: str
    task: TaskFile


@lru_cache(maxsize=8)
def _read(path: Path, state: tuple[int, int], name: str) -> StoredTask:
    data = path.read_bytes()
    return StoredTask(name, digest_bytes(data), TaskFile.model_validate_json(data))


def read_task(path: Path, name: str) -> StoredTask:
    """A task file. Raises `ValueError` with what is wrong with it."""
    found = path.stat()
    try:
        return _read(path, (found.st_size, found.st_mtime_ns), name)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        said = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"`{place}`: {said}" if place else said) from None


def with_tasks(spec: Spec, source: Source) -> tuple[Spec, dict[str, StoredTask]]:
    """The spec with what its tasks state written out where it says nothing else, and the task file of each
    benchmark. Raises `SpecError` where one is not here or is none."""
    requests, folder = task_requests(spec), source.path.parent
    wrong: list[Diagnostic] = []
    tasks: dict[str, StoredTask] = {}
    written: list[Benchmark] = []
    for number, benchmark in enumerate(spec.benchmark):
        if benchmark.id not in requests:
            written.append(benchmark)
            continue
        here: KeyPath = ("benchmark", number, "source")
        path = requests[benchmark.id].path(folder)
        name = path.relative_to(folder).as_posix()
        if not path.resolve().is_relative_to(folder.resolve()):
            message = f"`{name}` leads outside the spec's folder"
            wrong.append(
                source.diagnose("GC308", here, message, "remove the link, and `gridc plan` makes it")
            )
            continue
        if not is_there(path, Path.is_file):
            message = f"the task file of `{benchmark.source}` is not here ({name})"
            help = "`gridc plan` makes it where the task's package is installed"
            wrong.append(source.diagnose("GC347", here, message, help))
            continue
        try:
            stored = tasks[benchmark.id] = read_task(path, name)
            written.append(_with_task(spec, benchmark, stored.task))
            problem = _misfit(requests[benchmark.id], stored, folder)
        except ValueError as error:
            problem = f"{name} cannot be used: {error}"
        if problem is not None:
            help = "delete it, and `gridc plan` makes it again where the task's package is installed"
            wrong.append(source.diagnose("GC347", here, problem, help))
    if wrong:
        raise SpecError(wrong)
    spec = spec.model_copy(update={"benchmark": tuple(written)})
    return _with_choices(spec, source, {name: stored.task for name, stored in tasks.items()}), tasks


def _misfit(request: TaskRequest, stored: StoredTask, folder: Path) -> str | None:
    """What makes a task file another one than the study asks for."""
    task = stored.task
    if task.task != request.name:
        return f"{stored.name} is of the task `{task.task}`, and not of `{request.name}`"
    if task.seed != request.seed:
        return f"{stored.name} was made with seed {task.seed}, and not {request.seed}"
    if missing := [shots for shots in request.shots if shots not in task.shots]:
        return f"{stored.name} was not made for {missing[0]} exemplars"
    for name, digest in task.files.items() if request.beside else ():
        file = folder / name
        inside = file.resolve().is_relative_to(folder.resolve())
        if inside and is_there(file, Path.is_file) and digest_bytes(file.read_bytes()) != digest:
            return f"{name} has changed since {stored.name} was made of it"
    return None


def _with_choices(spec: Spec, source: Source, tasks: Mapping[str, TaskFile]) -> Spec:
    """The spec with what tasks call their ways to score (`measurand = "task:acc_norm"`) written out. Raises
    `SpecError` where no task knows the name, or two mean different things by it."""
    wrong: list[Diagnostic] = []

    def written(table: T, where: KeyPath, /) -> T:
        if table.measurand is None or not table.measurand.startswith(TASK):
            return table
        here = (*where, "measurand")
        about = {table.id: tasks[table.id]} if isinstance(table, Benchmark) and table.id in tasks else tasks
        known: dict[str, list[BenchmarkEffects]] = {}
        for task in about.values():
            for choice in task.choices.values():
                for name, effects in choice.items():
                    known.setdefault(name, []).append(effects)
        name = table.measurand.removeprefix(TASK)
        meant = known.get(name, [])
        if not meant:
            help = did_you_mean(table.measurand, [f"{TASK}{each}" for each in known])
            wrong.append(source.diagnose("GC202", here, f"no task here scores by `{name}`", help))
            return table
        if any(effects != meant[0] for effects in meant):
            help = "ask each task in a study of its own, or write out effects that are to hold for both"
            wrong.append(source.diagnose("GC316", here, f"two tasks mean different things by `{name}`", help))
            return table
        update = {key: getattr(meant[0], key) for key in meant[0].model_fields_set}
        return table.model_copy(update={**update, "measurand": None})

    spec = with_effects(spec, written)
    if wrong:
        raise SpecError(wrong)
    return spec


def _with_task(spec: Spec, benchmark: Benchmark, task: TaskFile) -> Benchmark:
    """A benchmark with the effects of its task, where it states none itself."""
    stated: dict[str, object] = {
        key: getattr(task.settings, key)
        for key in task.settings.model_fields_set
        if getattr(benchmark, key) is None
        and not (key in _HARNESS_FIRST and getattr(spec.harness, key) is not None)
    }
    if benchmark.chat_template is None and spec.harness.chat_template is None:
        stated["chat_template"] = False  # as packages of tasks do unless they are told otherwise
    if benchmark.exemplars is None and task.exemplars:
        stated["exemplars"] = Exemplars(pool="task", seed=task.seed)
    if "direction" not in benchmark.model_fields_set:
        stated["direction"] = task.direction
    return benchmark.model_copy(update=stated)
