"""A store -> a run to compare."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gridc import __version__
from gridc.compiler.grid import passes
from gridc.compiler.grid.cell import Cell, anchored
from gridc.compiler.inputs.logs.records import WITHOUT_SCORE
from gridc.compiler.inputs.questions import NOTHING, QuestionDigests, text_digest
from gridc.compiler.instrument.setting import EFFECTS, Setting
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.outcomes import STATES, CellOutcomes, of_answers
from gridc.reports.comparison.run import AnswerTexts, ComparedRun, RunBenchmark, RunItems
from gridc.runtime.store.events import ModelLoaded, RunStarted
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.policy import Aspect
from gridc.schema.spec import Spec
from gridc.statistics.direction import Direction

ASPECT_OF: Mapping[str, Aspect] = {"prompt": "prompt", "request": "request", "score": "score"}
"""By what an effect changes first (`instrument.setting`)."""
OF_MODEL = (
    "bos",
    "ends",
    "plain_text_gets_bos",
    "architecture",
    "files",
    "parameters",
    "chat_template",
    "generation_config_not_used",
    "identity",
)
"""What an engine says of a model when it loads it that is the model's own."""
OF_MACHINE = ("paths", "kv_mib", "threads", "model", "precision")
"""What it says of this run alone, or what stands elsewhere."""
PLACES = ("source", "base_url")
"""Where a model lies: its digest says whether it is another one."""
UNKNOWN = ("the batch shape of each call",)


def stored_run(path: Path, stamp: str | None, name: str) -> ComparedRun:
    """The study of a store, or the one whose stamp begins so, as a run to compare.

    Raises `StoreError` when the store cannot be read, or holds no such study (GC603) or several (GC602), or
    an older gridc filled it and it does not say which items are independent (GC754)."""
    with Store.open(path) as store:
        chosen = store.which(stamp)
        content = store.study(chosen)
        spec = Spec.model_validate(content["spec"])
        if spec.aggregated:
            message = (
                f"single answers are compared, and the study makes one score of several (`{spec.makes_one}`)"
            )
            help = "`gridc diff` compares the scores of its cells"
            raise StoreError([Diagnostic("GC754", message, str(path), help=help)])
        groups = store.groups(chosen)
        if not groups:
            help = "`gridc run` of this version on the same spec fills it in"
            message = "the store does not say which items are independent"
            raise StoreError([Diagnostic("GC754", message, str(path), help=help)])
        started = store.recorded(RunStarted, chosen)
        return ComparedRun(
            name,
            f"gridc {started[-1].gridc if started else __version__}",
            store.progress(chosen).complete,
            _benchmarks(store, path, chosen, spec, groups),
            _facts(store, chosen, content),
            UNKNOWN,
            partial(_texts, path, chosen),
        )


def _benchmarks(
    store: Store, path: Path, stamp: str, spec: Spec, groups: list[tuple[Any, ...]]
) -> dict[tuple[str, str], RunBenchmark]:
    units = {(benchmark, item): unit for benchmark, item, unit, *_ in groups}
    questions = {
        (benchmark, item): QuestionDigests(*(None if part is None else bytes.fromhex(part) for part in parts))
        for benchmark, item, *parts in store.questions(stamp)
    }
    content: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for benchmark, item, order, shown, *_ in store.shown(stamp):
        content[benchmark, item][order] = shown
    digests = {place: digest(orders) for place, orders in content.items()}
    unit_names = store.units(stamp)
    directions = {benchmark.id: Direction.of(str(benchmark.direction)) for benchmark in spec.benchmark}
    cells: defaultdict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in passes.cells(spec):
        cells[cell.model, cell.benchmark].append(cell)
    run = {}
    for (model, benchmark), some in cells.items():
        if benchmark not in unit_names:
            continue
        rows = {cell.configuration: list(store.ended_samples(stamp, cell.key)) for cell in some}
        names = tuple(dict.fromkeys(item for samples in rows.values() for item, *_ in samples))
        if not names:
            continue
        places = {item: place for place, item in enumerate(names)}
        outcomes = {
            cell.configuration: _outcomes(
                rows[cell.configuration], names, places, cell.setting.scale if spec.graded else 1
            )
            for cell in some
            if rows[cell.configuration]
        }
        items = RunItems(
            tuple(digests[benchmark, item] for item in names),
            names,
            tuple(units[benchmark, item] for item in names),
            tuple(questions.get((benchmark, item), NOTHING) for item in names),
        )
        alone = len(set(items.units)) == len(names)
        settings = {cell.configuration: _setting(cell.setting) for cell in some}
        run[model, benchmark] = RunBenchmark(
            directions[benchmark],
            "item" if alone else unit_names[benchmark],
            items,
            outcomes,
            settings,
            partial(_prompt_texts, path),
            planned=True,
            anchor=next((one.configuration for one in some if one.shared and anchored(spec, one)), None),
        )
    return run


def _outcomes(
    samples: Sequence[tuple[Any, ...]], items: tuple[str, ...], places: Mapping[str, int], scale: int
) -> CellOutcomes:
    """What the samples of a cell came to, rows of `Store.ended_samples`."""
    return of_answers(
        items,
        np.array([places[item] for item, *_ in samples], np.int64),
        np.array(
            [
                np.nan if score is None or ended in WITHOUT_SCORE else score / scale
                for _, score, ended, _ in samples
            ]
        ),
        np.array([STATES.index(ended) for _, _, ended, _ in samples], np.int64),
        [prompt for *_, prompt in samples],
    )


def _setting(setting: Setting) -> dict[tuple[Aspect, str], object]:
    """Every key that can matter, with its value. Names of files say nothing: prompts are compared."""
    effective = setting.effective()
    keys = [one.name for one in fields(Setting) if one.name not in ("prompt", "wrapper")]
    return {(ASPECT_OF[EFFECTS[key].changes], key): _plain(getattr(effective, key)) for key in keys}


def _plain(value: Any) -> object:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def _facts(store: Store, stamp: str, content: Mapping[str, Any]) -> dict[tuple[Aspect, str], object]:
    facts: dict[tuple[Aspect, str], object] = {}
    for model in content["spec"]["model"]:
        for key, value in model.items():
            if key not in ("id", *PLACES):
                facts["model", f"model[{model['id']}].{key}"] = value
    for model, identity in content["inputs"].get("models", {}).items():
        for key, value in identity.items():
            files = value.items() if key == "files" and isinstance(value, dict) else [("", value)]
            for file, sha256 in files:
                facts["model", f"model[{model}].{file or key}"] = sha256
    for part, version in content.get("behaviour", {}).items():
        facts["code", f"behaviour[{part}]"] = version
    facts["seed", "sampling.seed"] = content["spec"].get("sampling", {}).get("seed")
    for loaded in store.recorded(ModelLoaded, stamp):
        for key, value in loaded.ran.items():
            if key in OF_MODEL or key in OF_MACHINE:
                continue
            named = value.items() if key == "versions" and isinstance(value, dict) else [(key, value)]
            for part, stated in named:
                facts["environment", f"{loaded.model}: {part}"] = stated
    return facts


def _texts(path: Path, stamp: str, model: str, benchmark: str, configuration: str, item: str) -> AnswerTexts:
    with Store.open(path) as store:
        prompt, answer = store.first_texts(stamp, f"{model}/{benchmark}/{configuration}", item)
    return AnswerTexts(None if prompt is None else prompt_text(prompt), answer)


def _prompt_texts(path: Path) -> dict[str, str]:
    """Of every prompt in a store, by its id."""
    with Store.open(path) as store:
        return {id: text_digest(prompt_text(content)).hex() for id, content in store.prompts()}


def prompt_text(content: str) -> str:
    """A stored prompt as it reads: one message alone, several under their roles."""
    messages = json.loads(content)["messages"]
    if len(messages) == 1:
        return str(messages[0][1])
    return "\n\n".join(f"[{role}]\n{text}" for role, text in messages)
