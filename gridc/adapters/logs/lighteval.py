"""Details of lighteval: `details/MODEL/TIME/details_TASK_TIME.parquet`, one row an answer, with the settings
and scores of `results/MODEL/results_TIME.json`.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gridc.compiler.inputs.logs.files import LogFile, log_error
from gridc.compiler.inputs.logs.records import (
    LogAnswer,
    LogAxis,
    LogRun,
    PrintedScore,
    content_digest,
    log_axis,
    log_reader,
)
from gridc.compiler.inputs.questions import Question, question
from gridc.schema.comparison import AnswerState, Aspect

PACKAGE = "lighteval"
NAMES: tuple[str, ...] = ("details_*.parquet", "results_*.json")
RESULTS = frozenset(("config_general", "results", "summary_tasks"))
SHAPES: tuple[frozenset[str], ...] = (RESULTS,)
log_reader(__name__, 60)
ROW = frozenset(("doc", "metric", "model_response"))
EARLIER = frozenset(("example", "full_prompt", "metrics", "predictions"))
"""Columns before lighteval 0.11."""
NAMED = re.compile(r"details_(?P<task>.+)_(?P<time>\d+-\d+-\d+T.+)")
MEANS = frozenset(("acc", "acc_norm", "em", "qem", "pem", "extractive_match"))
"""Metrics whose aggregate is the mean over the rows; others are of the whole corpus."""
UNKNOWN = (
    "failed requests: they are empty answers",
    "unreadable and cut off answers",
    "the version of lighteval where it was installed as a package",
    "the digest of the weights",
)


def claims(file: LogFile) -> bool:
    """Details; and results some of whose tasks have no details, which are then described."""
    if file.suffix == ".parquet":
        return NAMED.fullmatch(file.stem) is not None and (file.keys >= ROW or file.keys >= EARLIER)
    return _is_results(file) and bool(_without_details(file))


def belongs(file: LogFile) -> bool:
    return _is_results(file)


def _is_results(file: LogFile) -> bool:
    return file.suffix == ".json" and file.keys >= RESULTS and file.name.startswith("results_")


def runs(file: LogFile) -> Iterator[LogRun]:
    """One run of a task; of results those of the tasks without details, as scores alone."""
    if file.suffix == ".json":
        for task in _without_details(file):
            yield _Task(file, task, file.document, _time(file)).described()
        return
    found = NAMED.fullmatch(file.stem)
    if found is None:
        raise log_error("GC672", "not named details_TASK_TIME.parquet", file.path)
    path = _results(file.path, found["time"])
    document = {} if path is None else LogFile(path).document
    yield _Task(file, found["task"], document, found["time"]).read()


def _time(file: LogFile) -> str:
    return file.stem.removeprefix("results_")


def _without_details(file: LogFile) -> list[str]:
    """Tasks of results, without averages over several."""
    folders = _sibling_folders(file.path.resolve().parent, "results", "details")
    held = {
        found["task"]
        for folder in folders
        for path in (folder / _time(file)).glob("details_*.parquet")
        if (found := NAMED.fullmatch(path.stem)) is not None
    }
    held |= {
        found["task"]
        for path in file.path.parent.glob("details_*.parquet")
        if (found := NAMED.fullmatch(path.stem)) is not None and found["time"] == _time(file)
    }
    tasks = [task for task in file.document["results"] if task != "all" and ":_average" not in task]
    return [task for task in tasks if task not in held]


def _results(details: Path, time: str) -> Path | None:
    """The results of some details: in the tree that lighteval writes, or in the same folder."""
    name = f"results_{time}.json"
    folder = details.resolve().parent
    places = [folder, *_sibling_folders(folder.parent, "details", "results")]
    return next((place / name for place in places if (place / name).is_file()), None)


def _sibling_folders(folder: Path, old: str, new: str) -> list[Path]:
    """The same folder within `new` in the place of `old`: a model's name may be several folders."""
    parts = folder.parts
    return [
        Path(*parts[:place], new, *parts[place + 1 :])
        for place in range(len(parts) - 1, 0, -1)
        if parts[place] == old
    ][:1]


@dataclass(frozen=True, slots=True)
class _Task:
    """A task of a run: its name with its shots, `gsm8k|5`, and what the results of the run say."""

    file: LogFile
    name: str
    results: Mapping[str, Any]
    time: str

    @property
    def config(self) -> Mapping[str, Any]:
        stated = self.results.get("config_tasks") or {}
        return stated.get(self.name) or stated.get(self.name.rpartition("|")[0]) or {}

    def described(self) -> LogRun:
        return self._run(tuple(dict(self._printed())), None, (), "items (run with --save-details)")

    def read(self) -> LogRun:
        readings: dict[str, bool] = {}
        for row in self.file.parquet():
            for name, value in _metrics(row).items():
                readings[name] = readings.get(name, False) or _number(value) is not None
        scored = tuple(name for name, numeric in readings.items() if numeric)
        return self._run(scored or tuple(readings), partial(_answers, self.file, scored), [
            name for name, numeric in readings.items() if not numeric
        ], None)  # fmt: skip

    def _run(self, readings: tuple[str, ...], samples: Any, not_read: Any, lacks: str | None) -> LogRun:
        general = self.results.get("config_general") or {}
        benchmark, _, shots = self.name.rpartition("|")
        benchmark = benchmark or self.name
        held = self.config.get("effective_num_docs")
        unknown = (
            UNKNOWN if self.results else (*UNKNOWN, "decoding, template and metrics (no results_TIME.json)")
        )
        return LogRun(
            path=self.file.path,
            package=PACKAGE,
            version=_version(general) or "",
            digest=self.file.digest,
            model=str(general.get("model_name") or self._model()),
            benchmark=benchmark,
            axes=self._axes(general, benchmark, shots),
            readings=readings,
            samples=samples,
            lower=frozenset(self._lower()),
            printed=dict(self._printed()),
            expected=held if isinstance(held, int) and held > 0 and samples is not None else None,
            unknown=unknown if lacks is None else (*unknown, lacks),
            not_read=not_read,
        )

    def _model(self) -> str:
        """`details/MODEL/TIME`: a name may have a slash."""
        parts = self.file.path.resolve().parent.parent.parts
        inner = parts[len(parts) - parts[::-1].index("details") :] if "details" in parts else parts[-1:]
        return "/".join(inner) or "unknown"

    def _axes(self, general: Mapping[str, Any], benchmark: str, shots: str) -> dict[str, LogAxis]:
        axes = {"task": log_axis("prompt", benchmark), "shots": log_axis("prompt", shots or "unknown")}
        if not self.results:
            return axes
        model, config = general.get("model_config") or {}, self.config
        decoding = model.get("generation_parameters") or general.get("generation_parameters")
        stops = {key: config.get(key) for key in ("generation_size", "stop_sequence", "num_samples")}
        revision = model.get("revision") or general.get("model_sha")
        stated: dict[str, tuple[Aspect, Any, bool]] = {
            "template": ("prompt", config.get("prompt_function"), False),
            "chat": ("prompt", model.get("override_chat_template"), False),
            "system": ("prompt", model.get("system_prompt"), False),
            "decoding": ("request", {"generation": decoding, **stops}, False),
            "scoring": ("score", config.get("metrics") or config.get("metric"), False),
            "task_version": ("code", (self.results.get("versions") or {}).get(self.name), False),
            "package": ("code", _version(general), False),
            "precision": ("request", model.get("dtype") or general.get("model_dtype"), True),
            "revision": ("model", revision, True),
        }
        for name, (aspect, value, own) in stated.items():
            if value is not None:
                axes[name] = log_axis(aspect, value, own=own)
        return axes

    def _lower(self) -> Iterator[str]:
        """Metrics of which less is better; several of one name say so by their own names."""
        for metric in self.config.get("metrics") or self.config.get("metric") or ():
            if isinstance(metric, dict):
                name, higher = metric.get("metric_name"), metric.get("higher_is_better")
                each = higher if isinstance(higher, dict) else {str(name): higher}
                yield from (one for one, up in each.items() if up is False)

    def _printed(self) -> Iterator[tuple[str, PrintedScore]]:
        stated = (self.results.get("results") or {}).get(self.name) or {}
        for name, value in stated.items():
            if not name.endswith("_stderr"):
                error = _number(stated.get(f"{name}_stderr"))
                yield name, PrintedScore(_number(value), None, mean=name in MEANS, error=error)


def _version(general: Mapping[str, Any]) -> str | None:
    """The commit; an installed package does not know its own."""
    stated = general.get("lighteval_sha")
    return None if stated in (None, "?") else str(stated)


def _metrics(row: Mapping[str, Any]) -> Mapping[str, Any]:
    metrics: Mapping[str, Any] = row["metric"] if "metric" in row else row["metrics"]
    return metrics


def _number(value: Any) -> float | None:
    """A score; None for what a metric of the whole corpus keeps of a row."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _answers(file: LogFile, readings: tuple[str, ...]) -> Iterator[LogAnswer]:
    for number, row in enumerate(file.parquet(), start=1):
        try:
            yield _answer(number - 1, row, readings)
        except (AttributeError, KeyError, IndexError, TypeError) as error:
            message = f"row {number:,}: {type(error).__name__} {error}"
            raise log_error("GC672", message, file.path) from None


def _answer(number: int, row: Mapping[str, Any], readings: tuple[str, ...]) -> LogAnswer:
    doc = row["doc"] if "doc" in row else {**row, "query": row["example"]}
    response = row.get("model_response") or {"text": row.get("predictions"), "input": row.get("full_prompt")}
    choices = [one for one in doc.get("choices") or [] if isinstance(one, str)]
    gold = doc.get("gold_index")
    scores = {name: _number(_metrics(row).get(name)) for name in readings}
    state: AnswerState = "unscored" if all(score is None for score in scores.values()) else "read"
    return LogAnswer(
        id=str(doc.get("id") or number),
        content=content_digest([doc["query"], choices, gold]),
        epoch=0,
        scores=scores,
        state=state,
        prompt=_text(response.get("input")) or _text(doc["query"]),
        answer=_answer_text(response, choices),
        question=partial(_question, doc, choices, gold),
        chosen=not response.get("text"),
    )


def _answer_text(response: Mapping[str, Any], choices: list[str]) -> str | None:
    """The first text; of choices that were compared the likeliest."""
    texts, likely = response.get("text") or [], response.get("logprobs") or []
    if texts:
        return _text(texts[0] if isinstance(texts, list) else texts)
    if len(likely) == len(choices) and all(isinstance(one, float) for one in likely) and likely:
        return choices[max(range(len(likely)), key=likely.__getitem__)]
    return None


def _question(doc: Mapping[str, Any], choices: list[str], gold: Any) -> Question:
    places = gold if isinstance(gold, list) else [gold]
    right = [choices[place] for place in places if isinstance(place, int) and 0 <= place < len(choices)]
    asked = doc.get("original_query") or doc["query"]
    return question([str(asked)], choices if len(choices) > len(right) else [], right)


def _text(value: Any) -> str | None:
    """A prompt is a text, or messages."""
    if isinstance(value, list):
        return "\n\n".join(
            f"[{one.get('role')}]\n{one.get('content')}" if isinstance(one, dict) else str(one)
            for one in value
        )
    return value if value is None or isinstance(value, str) else str(value)
