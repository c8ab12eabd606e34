"""Logs that gridc exported -> what the run itself says, of the study that goes with them and their answers.

What a log has no place for goes with them too: the events, and how many calls there were. The results digest
that the run recorded at its end says whether the answers are the ones that it counted.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gridc.compiler.inputs.logs import UNFORESEEN, ReadLogs
from gridc.compiler.inputs.logs.bounded import log_error
from gridc.compiler.inputs.logs.every_eval import OWN
from gridc.compiler.inputs.logs.records import LogAnswer
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, VerificationError
from gridc.reports.certificate import certify
from gridc.reports.exchange.recorded_study import (
    EVENTS,
    QUESTIONS,
    RUN,
    SHOWN,
    of_description,
    of_deviations,
    of_shown,
    read_described,
)
from gridc.reports.files import texts
from gridc.reports.findings.conduct import CONDUCT, SHARED_DRAWS, shared_draws
from gridc.reports.findings.find import find, noted_of_items
from gridc.reports.findings.findings import Findings
from gridc.reports.verification import MOST_JSON
from gridc.runtime.recording import RecordedSample, record_run
from gridc.runtime.store.events import Event, InterimLook, RunFinished, Stamped, first_break, recorded
from gridc.runtime.store.rows import Progress
from gridc.runtime.store.store import Store
from gridc.schema.certificate import Certificate


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """What the answers in exported logs show of their study. `recorded` is the digest of its results as the
    run noted it at its end; None where it did not end."""

    findings: Findings
    recorded: str | None

    @property
    def certificate(self) -> Certificate:
        return certify(self.findings)

    def texts(self) -> dict[str, str]:
        """Every report of the study, by the name of its file."""
        return texts(self.findings)

    @property
    def provenance(self) -> str:
        """Where it comes from, and whether the answers are those of the run."""
        if self.recorded is None:
            sound = "the run had not ended, so that nothing shows whether these are all its answers"
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
    logs have none. Raises `VerificationError` (GC701, GC704) where
    its files do not fit together, and `FileError` (GC674) where the logs are not of it."""
    try:
        shown, questions = ([tuple(row) for row in _read(folder, name)] for name in (SHOWN, QUESTIONS))
        events = [Event.from_row({**row}) for row in _read(folder, EVENTS)]
        if (broken := first_break(events)) is not None:
            raise ValueError(f"event {broken} does not follow from the one before it")
        said = _read(folder, RUN)
        progress, observed = Progress(**said["progress"]), tuple(map(str, said["observed"]))
        compiled, lock = read_described(folder, lambda _: shown, lambda _: questions)
        plan = Plan(compiled.study)
        shared = shared_draws(plan, said["shared_calls"])
        findings = [
            *of_description(compiled, folder),
            *of_deviations(compiled, lock, folder),
            *of_shown(plan, shown, whole=True),
        ]
        if not recorded(events, Stamped, plan.study_digest):
            raise ValueError("no event records its stamp")
    except UNFORESEEN as error:
        message = f"the study beside the logs cannot be read ({type(error).__name__}: {str(error)[:100]})"
        raise VerificationError([Diagnostic("GC701", message, str(folder))]) from None
    if findings:
        raise VerificationError(findings)
    if compiled.study.spec.judge is not None:
        logs.notes.append(f"{compiled.spec.study.id} has judges, of whose replies its logs have none")
        return None
    looks = [
        event.body
        for event in events
        if isinstance(event.body, InterimLook) and event.body.stamp == plan.study_digest
    ]
    with tempfile.TemporaryDirectory(prefix="gridc-logs-") as draft:
        path = Path(draft) / "store.sqlite"
        try:
            record_run(path, plan, lock.created, events, _samples(plan, logs))
        except UNFORESEEN as error:
            message = f"an answer is of none that the study beside it asks ({error})"
            raise log_error("GC674", message, folder) from None
        with Store.open(path) as store:
            found = find(compiled, lock, store, known=noted_of_items(looks[-1] if looks else None))
    found = replace(
        found,
        progress=progress if progress.complete == found.complete else found.progress,
        near_ties=said["near_ties"],
        first_call=said["first_call"],
        before_stamp=said["before_stamp"],
        computed={
            **found.computed,
            CONDUCT.name: replace(found[CONDUCT], observed=observed),
            SHARED_DRAWS.name: shared,
        },
    )
    ended = recorded(events, RunFinished, plan.study_digest)
    return ExportedRun(found, ended[-1].results if ended else None)


def _read(folder: Path, name: str) -> Any:
    path = folder / name
    if not path.is_file() or path.is_symlink() or path.stat().st_size > MOST_JSON:
        raise ValueError(f"{name} is not here, or too large")
    document = json.loads(path.read_text("utf-8"))
    if not isinstance(document, dict if name == RUN else list):
        raise ValueError(f"{name} has another form")
    return document


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
            )


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
