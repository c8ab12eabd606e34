"""Logs that gridc exported -> what the run itself says, from the study beside the logs and their answers.

What a log has no place for goes with them too: the events, and how many calls there were. The results digest
that the run recorded at its end says whether the answers are the ones that it counted.
"""

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gridc.compiler.inputs.logs import ReadLogs
from gridc.compiler.inputs.logs.files import UNFORESEEN, log_error
from gridc.compiler.inputs.logs.records import OWN, LogAnswer
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, VerificationError
from gridc.reports.certificate import certificate_of
from gridc.reports.exchange.recorded_study import (
    EVENTS,
    QUESTIONS,
    RUN,
    SHOWN,
    RunFacts,
    of_description,
    of_deviations,
    of_shown,
    read_described,
)
from gridc.reports.files import file_texts
from gridc.reports.findings.conduct import CONDUCT, EARLIER, SHARED_DRAWS, shared_draws
from gridc.reports.findings.findings import Findings, all_findings, noted_of_items
from gridc.reports.verification import MOST_JSON
from gridc.runtime.recording import IN_USAGE, RecordedSample, record_run
from gridc.runtime.store.events import (
    Body,
    Event,
    InterimLook,
    Locked,
    Merged,
    RunFinished,
    RunStarted,
    Sealed,
    Stamped,
    Unblinded,
    first_break,
)
from gridc.runtime.store.reader import Progress
from gridc.runtime.store.store import Store
from gridc.schema.certificate import Certificate


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """What the answers in exported logs show of their study. `recorded` is the digest of its results as the
    run noted it at its end; None where nothing does."""

    findings: Findings
    certificate: Certificate
    recorded: str | None

    def texts(self) -> dict[str, str]:
        """Every report of the study, by the name of its file."""
        return file_texts(self.findings)

    @property
    def provenance(self) -> str:
        """Where it comes from, and whether the answers are those of the run."""
        if self.recorded is None:
            sound = "no run noted its results at its end, so that nothing shows whether these are all answers"
        elif self.recorded == self.findings.results:
            sound = "the answers hash to the results that the run recorded at its end"
        else:
            sound = (
                "the answers do NOT hash to the results that the run recorded at its end: some were changed, "
                "or are missing"
            )
        of = f"exported by gridc from the study {self.findings.study}, stamp {self.findings.stamp[:12]}"
        return f"{of}; {sound}; events and counts of calls are as the export has them"


def read_exported(folder: Path, logs: ReadLogs) -> ExportedRun | None:
    """What the answers in logs show of the study in `folder`; None of one with judges, of whose replies the
    logs have none. Raises `VerificationError` (GC701, GC704) where its files do not fit together, and
    `FileError` (GC674) where the logs are not of it."""
    with _fitting(folder):
        shown, questions = ([tuple(row) for row in _read(folder, name)] for name in (SHOWN, QUESTIONS))
        events = [Event.from_row({**row}) for row in _read(folder, EVENTS)]
        if (broken := first_break(events)) is not None:
            raise ValueError(f"event {broken} does not follow from the one before it")
        facts = RunFacts.model_validate_json(_text(folder, RUN))
        compiled, lock = read_described(folder, lambda _: shown, lambda _: questions)
        plan = Plan(compiled.study)
        findings = [
            *of_description(compiled, folder),
            *of_deviations(compiled, lock, folder),
            *of_shown(plan, shown, whole=True),
        ]
        mine = [event.body for event in events if event.body.stamp == plan.study_digest]
        if not any(isinstance(body, Stamped) for body in mine):
            raise ValueError("no event records its stamp")
    if findings:
        raise VerificationError(findings)
    if compiled.spec.judge is not None:
        logs.notes.append(f"{compiled.spec.study.id} has judges, of whose replies its logs have none")
        return None
    look = _last_look(mine)
    if look is None and (_has_scaffolds(plan) or any(isinstance(body, Sealed) for body in mine)):
        logs.notes.append(
            "no report says what scaffolds and people came to since the run ended: it is not known"
        )
    with tempfile.TemporaryDirectory(prefix="gridc-logs-") as draft:
        path = Path(draft) / "store.sqlite"
        try:
            record_run(path, plan, lock.created, events, _samples(plan, logs))
        except (sqlite3.Error, *UNFORESEEN) as error:
            message = f"the study beside these logs does not ask what they answer ({error})"
            raise log_error("GC674", message, folder) from None
        with _fitting(folder), Store.open(path) as store:
            found = all_findings(compiled, lock, store, known=noted_of_items(look))
            found = _with_facts(found, facts, shared_draws(plan, facts.shared_calls))
            return ExportedRun(found, certificate_of(found), _results_at_the_end(mine))


def _with_facts(found: Findings, facts: RunFacts, shared: dict[str, int]) -> Findings:
    """With what calls alone show, of which logs have the last of each sample."""
    progress = Progress(facts.answered, facts.total, facts.unscored)
    return replace(
        found,
        progress=progress if progress.complete == found.complete else found.progress,
        near_ties=facts.near_ties,
        first_call=facts.first_call,
        before_stamp=facts.before_stamp,
        computed={
            **found.computed,
            CONDUCT.name: replace(found[CONDUCT], observed=tuple(facts.observed)),
            SHARED_DRAWS.name: shared,
            EARLIER.name: tuple(facts.earlier),
        },
    )


def _results_at_the_end(events: Sequence[Body]) -> str | None:
    """The digest of the results as the last run noted it; None where it did not end, or a merge came after
    it."""
    last = [body for body in events if isinstance(body, RunStarted | Merged | RunFinished)][-1:]
    return next((body.results for body in last if isinstance(body, RunFinished)), None)


@contextmanager
def _fitting(folder: Path) -> Iterator[None]:
    """Whoever wrote the description may have written anything."""
    try:
        yield
    except (sqlite3.Error, *UNFORESEEN) as error:
        message = f"the study beside the logs cannot be read ({type(error).__name__}: {str(error)[:100]})"
        raise VerificationError([Diagnostic("GC701", message, str(folder))]) from None


def _last_look(events: Sequence[Body]) -> InterimLook | None:
    """The last report, unless something that changes it came after."""
    kinds = (InterimLook, RunStarted, Merged, RunFinished, Locked, Unblinded)
    last = [body for body in events if isinstance(body, kinds)][-1:]
    return next((body for body in last if isinstance(body, InterimLook)), None)


def _has_scaffolds(plan: Plan) -> bool:
    return any(cell.setting.scaffolding is not None for cell in plan.cells())


def _read(folder: Path, name: str) -> list[Any]:
    rows = json.loads(_text(folder, name))
    if not isinstance(rows, list):
        raise ValueError(f"{name} has another form")
    return rows


def _text(folder: Path, name: str) -> str:
    path = folder / name
    if not path.is_file() or path.is_symlink() or path.stat().st_size > MOST_JSON:
        raise ValueError(f"{name} is not here, or too large")
    return path.read_text("utf-8")


def _samples(plan: Plan, logs: ReadLogs) -> Iterator[RecordedSample]:
    settings = {cell.key: cell.setting for cell in plan.cells()}
    for gathered in logs.runs:
        for answer in gathered.run.samples() if gathered.run.samples is not None else ():
            said = answer.fields or {}
            cell = str(said[f"{OWN}cell"])
            setting = settings[cell]
            yield RecordedSample(
                cell,
                answer.id,
                answer.epoch,
                int(said[f"{OWN}choice"]) if said[f"{OWN}choice"] else None,
                _points(answer, setting.scale, setting.credit),
                said[f"{OWN}evidence"] or None,
                str(said[f"{OWN}call"]),
                "loglikelihood" if setting.ranks else "generate",
                answer.state,
                answer.prompt,
                None if setting.ranks else answer.answer or "",
                _took(said),
                said.get(f"{OWN}finish") == "length",
            )


def _took(said: Mapping[str, Any]) -> Mapping[str, float]:
    """What the last call of an answer counts, as far as its log says it."""
    return {name: int(said[f"{OWN}{key}"]) for name, key in IN_USAGE.items() if f"{OWN}{key}" in said}


def _points(answer: LogAnswer, scale: int, credit: int) -> int:
    """What an answer earned, in units of 1 / scale. The reader gives none to one that failed, which the study
    credits as it does unreadable ones."""
    (score,) = answer.scores.values()
    if score is None:
        return credit
    points = round(score * scale)
    if abs(points - score * scale) > 1e-6:
        raise ValueError(f"a score of {score:g}")
    return points
