"""Makes the task files that a spec needs and that are not beside it.

The package's own code renders a task, and its templates are programs. They run in a child process with
limits on time and memory, without keys and without a network. A task file that lies beside the spec may be a
stranger's, with functions of their own: it runs only where the person consented to its digest, which covers
every file that it is made of.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gridc.compiler.frontend.expansion import expanded
from gridc.compiler.frontend.plugins import PluginError, find_plugin
from gridc.compiler.frontend.read import CheckedSpec, asked_tasks, read_spec
from gridc.compiler.frontend.source import Source, read_source
from gridc.compiler.frontend.tasks import StoredTask, TaskCode, TaskRequest
from gridc.compiler.inputs.task_index import INSTALL, PACKAGE
from gridc.compiler.preflight.consent import consents_given
from gridc.confined import CACHES, ChildEndedError, Confined
from gridc.diagnostics.errors import Diagnostic, SpecError, UsageError
from gridc.files import is_there, write_atomic
from gridc.launch import NETWORK, launch_program, with_path
from gridc.schema.base import PLUGIN
from gridc.schema.canonical import digest
from gridc.schema.tasks import TaskFile

SECONDS = 3600.0
"""CPU time in which a task has to be rendered. Groups of 15,000 questions take minutes."""
PART = 2**23
"""Characters of a task file that one message of a child holds."""

LOADERS: Mapping[str, tuple[str, str, str]] = {
    "lm-eval": ("gridc.adapters.tasks.lm_eval:Loader", PACKAGE, INSTALL),
}
"""By the `loader` of the language: the class that renders, the package it needs, and what installs that."""
HOST = "gridc.compiler.inputs.children:TaskHost"


def read_with_tasks(
    path: Path, data_folder: Path | None = None, models_folder: Path | None = None
) -> CheckedSpec:
    """A spec (`read_spec`), with the task files made that it needs. Raises `SpecError`; and `UsageError`
    (GC643) where nobody consented to a task beside it."""
    make_task_files(path)
    return read_spec(path, data_folder, models_folder)


def make_task_files(path: Path, online: bool = False) -> None:
    """Write what is missing of the task files of a spec. Only with `online` are data fetched that the cache
    does not have. Raises `SpecError` and `UsageError`."""
    folder = path.parent
    wrong, refused = list[Diagnostic](), list[TaskCode]()
    missing = {
        request.path(folder): (benchmark, request)
        for benchmark, request in asked_tasks(path).items()
        if not is_there(request.path(folder), Path.is_file)
    }
    source = expanded(read_source(path)) if missing else None
    for target, (benchmark, request) in missing.items():
        try:
            if not target.resolve().is_relative_to(folder.resolve()):
                continue  # reading it says so
            text = rendered(request, folder, online)
            target.parent.mkdir(exist_ok=True)
            write_atomic(target, text)
        except _NotAllowed as error:
            refused.append(error.code)
        except _Unavailable as error:
            wrong.append(_diagnosed(source, benchmark, error))
    if refused:
        pairs = ",".join(dict.fromkeys(code.pair for code in refused))
        help = f"if you have read them and mean it: GRIDC_ALLOW={pairs} in the environment"
        messages = dict.fromkeys(f"nobody has consented to run {code}" for code in refused)
        raise UsageError([Diagnostic("GC643", message, help=help) for message in messages])
    if wrong:
        raise SpecError(wrong)


def rendered_again(path: Path, tasks: Mapping[str, StoredTask]) -> Iterator[str]:
    """Whether each task file of a spec is what its package renders here, a sentence each: also that it could
    not be tried, and why. Raises `SpecError` (GC347) where the version that made a file renders another."""
    for benchmark, request in asked_tasks(path).items():
        stored = tasks[benchmark]
        try:
            found = TaskFile.model_validate_json(rendered(request, path.parent))
        except (_NotAllowed, _Unavailable) as error:
            yield f"{benchmark}: {stored.name} was not rendered again here ({error})"
            continue
        difference = _difference(stored.task, found)
        maker, here = (f"{task.package} {task.version}" for task in (stored.task, found))
        if difference is None:
            yield f"{benchmark}: {stored.name} is what {here} renders here"
        elif maker != here:
            yield f"{benchmark}: {stored.name} is of {maker}, and {here} renders {difference} otherwise"
        else:
            message = f"{stored.name} is not what {here} renders here: {difference} differs"
            help = "the file or its data were changed: delete it, and `gridc plan` makes it again"
            raise SpecError([_diagnosed(expanded(read_source(path)), benchmark, _Unavailable(message, help))])


def _difference(one: TaskFile, two: TaskFile) -> str | None:
    """The first part in which two task files differ, but for the version of their package."""
    for key in TaskFile.model_fields:
        pair = getattr(one, key), getattr(two, key)
        if key == "version" or pair[0] == pair[1]:
            continue
        if key in ("items", "exemplars"):
            others = (a.id for a, b in zip(*pair, strict=False) if a != b)
            return f"`{next(others, f'the number of {key}')}`"
        return f"`{key}`"
    return None


class _Unavailable(Exception):
    """A task that cannot be rendered here; `help` is the way out."""

    def __init__(self, problem: str, help: str) -> None:
        self.problem, self.help = problem, help
        super().__init__(problem)


class _NotAllowed(Exception):
    """A task beside the spec to which nobody consented."""

    def __init__(self, code: TaskCode) -> None:
        self.code = code
        super().__init__(f"nobody has consented to run {', '.join(code.names)}")


def _diagnosed(source: Source | None, benchmark: str, error: _Unavailable) -> Diagnostic:
    listed = source.values.get("benchmark", []) if source else []
    rows = [row for row, each in enumerate(listed) if isinstance(each, dict) and each.get("id") == benchmark]
    if source is None or not rows:
        return Diagnostic("GC347", error.problem, help=error.help)
    return source.diagnose("GC347", ("benchmark", rows[0], "source"), error.problem, error.help)


def rendered(request: TaskRequest, folder: Path, online: bool = False) -> str:
    """The text of a task file."""
    if online and not request.beside:
        _fetch(request, folder)
    try:
        with closing(_begun(request.loader)) as child:
            if request.beside:
                _require_consent(child, request, folder)
            own = request.own or not request.shots
            asked = [*([None] if own else []), *request.shots]
            where = str(folder.resolve())
            told: tuple[Any, ...] = (request.name, where, {}, asked, request.seed)
            length = child.ask("call", "read", *told, seconds=SECONDS)
            parts = (child.ask("call", "part", start, PART) for start in range(0, length, PART))
            return "".join(parts) + "\n"
    except ChildEndedError as error:
        raise _Unavailable(f"`{request.reference}` {error}", "report the task, with its name") from None
    except ValueError as error:
        raise _Unavailable(f"`{request.reference}`: {error}", _way_out(request, str(error))) from None


def _begun(loader: str) -> Confined:
    """A child in which tasks are rendered. Raises `_Unavailable`, and as `Confined` does."""
    module, _, name = _target(loader).partition(":")
    child = Confined(HOST, offline=True)
    child.ask("load", module, name, seconds=SECONDS)
    return child


def _target(loader: str) -> str:
    """The class that renders tasks for a loader. Raises `_Unavailable`."""
    if loader.startswith(PLUGIN):
        try:
            entry = find_plugin("task", loader).entry
        except PluginError as error:
            raise _Unavailable(error.problem, error.help or "install the package that offers it") from None
        return f"{entry.module}:{entry.attr}"
    target, package, install = LOADERS[loader]
    if find_spec(package) is None:
        raise _Unavailable(f"{package} is not installed, which renders the task", install)
    return target


def _require_consent(child: Confined, request: TaskRequest, folder: Path) -> None:
    """Raise `_NotAllowed` where a task that lies beside the spec may not run."""
    files = child.ask("call", "files", request.name, str(folder.resolve()))
    code = TaskCode(tuple(files["code"]), digest(files["files"]))
    if code.pair not in consents_given([code], folder):
        raise _NotAllowed(code)


_FETCH = "import datasets; [datasets.load_dataset(**each) for each in json.loads(sys.argv[1])]"


def _fetch(request: TaskRequest, folder: Path) -> None:
    """Have the hub's data of a task in the cache. Nothing of the task runs: its files say what they are, and
    `datasets` runs no code of theirs. What is not fetched is missed when the task is rendered."""
    with (
        closing(_begun(request.loader)) as child,
        suppress(ChildEndedError, ValueError),
    ):
        wanted = child.ask("call", "dataset", request.name, str(folder.resolve()), seconds=SECONDS)
        if wanted := [_arguments(each) for each in wanted if "/" in (each["path"] or "")]:
            launch_program(with_path(_FETCH, json.dumps(wanted)), needs=(*NETWORK, *CACHES))


def _arguments(data: Mapping[str, Any]) -> dict[str, Any]:
    """What `load_dataset` is asked for."""
    stated = {key: value for key, value in data["kwargs"].items() if key != "trust_remote_code"}
    return {"path": data["path"], "name": data["name"], **stated}


def _way_out(request: TaskRequest, problem: str) -> str:
    if "offline" in problem.lower() or "cache" in problem.lower():
        return "where there is a network, `gridc init --task` fetches its data into the cache"
    if request.beside:
        return 'correct the task file, or name a registered task: source = "task:NAME"'
    return "`gridc tasks WORDS` lists what is there"
