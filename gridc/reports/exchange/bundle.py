"""Packs a study into one folder that a reviewer can check offline, with gridc's core alone.

    gridcard.toml  gridcard.lock  deviations.toml    the source (what it extends written out), the stamp, what
                                                     departed from it
    results/       store.sqlite and the reports that were written from it
    manifests/     study.json (what was stamped, as it ran), items.json, environment.json
    prml/          the manifests of what the study claims, if they lay beside the results
    ro-crate-metadata.json                           RO-Crate 1.2
    manifest-sha256.txt                              every other file, as `sha256sum -c` reads it

Items, weights and prompts stay where they are: the bundle holds their digests. So everything that follows
from the stored outcomes is recomputed, and whether an answer scores as stored is not, which needs the items;
`gridc verify SPEC` does that where they are. What rates count by is taken as recorded: which option is right,
`unknown` or matching, and what is expected of a prompt, from the store; tags and labels of options that the
spec names, and the number of rows of the files, from items.json. The digests that the run recorded at its end
cover all of it.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridc import __version__
from gridc.compiler.compile import Compiled
from gridc.compiler.lock.attestation import SUFFIXES, evidence_path, read_evidence
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lock.trust import NOBODY, Trust
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, GridcError, VerificationError
from gridc.reports.exchange import MANIFEST, new_folder, prml
from gridc.reports.exchange.recorded_study import (
    ITEMS,
    LOCK,
    LOG,
    SPEC,
    STUDY,
    described,
    json_bytes,
    listed_digest,
    of_description,
    of_deviations,
    of_shown,
    read_described,
)
from gridc.reports.files import NAMES
from gridc.reports.ties import FINISH, check_ties
from gridc.reports.verification import (
    MOST_JSON,
    SeenReports,
    VerifiedStudy,
    columns_of_calls,
    earlier_studies,
    files_below,
    looked_at,
    of_calls,
    of_clock,
    of_costs,
    of_digests,
    of_events,
    of_history,
    of_lock,
    of_no_conclusion,
    of_plan,
    of_replies,
    of_reports,
    of_witness,
    recorded_at_the_end,
    same_behaviour,
    stamped_words,
    unreadable_as_finding,
)
from gridc.reports.verified_samples import of_blinding, takes_items
from gridc.runtime.store.digests import CallRecords
from gridc.runtime.store.events import Event, ModelLoaded, RunFinished, Sealed, bodies_of
from gridc.runtime.store.store import Store
from gridc.schema.canonical import each_key_once

CRATE = "ro-crate-metadata.json"
ENVIRONMENT = "manifests/environment.json"
CLAIMS = "prml"


def export(compiled: Compiled, lock: Lock, results: Path, target: Path) -> Path:
    """Write the bundle of a study from its results folder. It appears whole or not at all.

    Raises `UsageError` (GC000) when the target exists, `StoreError` when there is no store.
    """
    study = compiled.study
    with new_folder(target) as draft:
        (draft / "results").mkdir()
        with Store.open(results / "store.sqlite") as store:
            store.require(Plan(study).study_digest)
            environment = [load.as_json() for load in store.bodies_of(ModelLoaded)]
            ended = max((event.at for event in store.events()), default=lock.created)
            store.copy_to(draft / "results" / "store.sqlite", Plan(study).study_digest)
        files = {
            **described(compiled),
            ENVIRONMENT: json_bytes({"gridc": __version__, "loaded": environment}),
        }
        files |= _evidence(compiled.lock_path, "gridcard.lock")
        files |= _evidence(results / FINISH, f"results/{FINISH}")
        reports = [name for name in (*NAMES, "witness.json", FINISH) if name != "store.sqlite"]
        files |= {
            f"results/{name}": (results / name).read_bytes() for name in reports if (results / name).is_file()
        }
        claims = prml.folder_beside(results)
        files |= {f"{CLAIMS}/{path.name}": path.read_bytes() for path in prml.files_in(claims)}
        for name, data in files.items():
            (draft / name).parent.mkdir(exist_ok=True)
            (draft / name).write_bytes(data)
        names = sorted(files_below(draft))
        (draft / CRATE).write_bytes(json_bytes(_crate(compiled, lock, ended, names)))
        (draft / MANIFEST).write_text(_manifest({name: _digest_of(draft / name) for name in (*names, CRATE)}))
    return target


def _evidence(path: Path, name: str) -> dict[str, bytes]:
    """What ties a file to a time or a person, under the name that the file has in the bundle."""
    held = {f"{name}{suffix}": read_evidence(evidence_path(path, suffix)) for suffix in SUFFIXES}
    return {name: data for name, data in held.items() if data is not None}


def verify_bundle(folder: Path, trust: Trust = NOBODY) -> VerifiedStudy:
    """Check a bundle with nothing but what it holds. `trust` names whom the verifier believes.

    Raises `VerificationError` with everything that differs.
    """
    # A changed file is read all the same, so that it is said what changed in it.
    changed = list(_changed_files(folder))
    diagnostics = list(_listed(folder))
    if diagnostics:
        raise VerificationError([*changed, *diagnostics])
    seen = SeenReports()
    try:
        path = folder / "results" / "store.sqlite"
        with Store.open(path, look=False) as store, looked_at(store) as sound:
            compiled, lock = read_described(folder, store.shown, store.questions)
            diagnostics += of_description(compiled, folder)
            diagnostics += of_deviations(compiled, lock, folder)
            plan, events = Plan(compiled.study), store.events()
            store.require(plan.study_digest)
            diagnostics += of_history(lock, store, events, plan.study_digest, alone=True)
            diagnostics += of_events(events)
            progress, conclusion = store.progress(plan.study_digest), store.conclusion(plan.study_digest)
            records = CallRecords(columns_of_calls(store, conclusion))
            diagnostics += of_calls(store, plan.study_digest, records)
            whole = conclusion is not None and conclusion.tables is not None
            diagnostics += of_lock(lock, store, plan.study_digest, events, str(compiled.lock_path))
            diagnostics += unreadable_as_finding(
                "the plan", of_plan(plan, store, conclusion, without_items=True)
            )
            diagnostics += unreadable_as_finding("the costs", of_costs(plan, lock, store))
            diagnostics += unreadable_as_finding(
                "the options", of_shown(plan, store.shown(plan.study_digest), whole)
            )
            concluded = progress.complete and conclusion is not None
            diagnostics += unreadable_as_finding("the judgements", of_replies(plan, store, concluded))
            diagnostics += unreadable_as_finding(
                "the blinding", of_blinding(plan, store, events, without_items=True)
            )
            results = store.results_digest(plan.study_digest)
            if conclusion is None:
                diagnostics += of_no_conclusion(events, plan.study_digest)
            else:
                ends = of_digests(store, conclusion, progress.complete, results, records)
                diagnostics += unreadable_as_finding("the digests", ends)
            del records
            diagnostics += unreadable_as_finding(
                "the manifests", _derived(compiled, lock, store, events, folder)
            )
            diagnostics += _named(conclusion, folder)
            diagnostics += prml.manifest_differences(lock, folder / CLAIMS)
            shown = check_ties(
                compiled.lock_path, compiled.source.path, folder / "results", events, plan.study_digest, trust
            )
            diagnostics += shown.findings
            diagnostics += unreadable_as_finding("the samples", _sampled(plan, store))
            diagnostics = [*sound(), *diagnostics]
            if not diagnostics:
                reported = folder / "results"
                reports = of_reports(
                    compiled,
                    lock,
                    store,
                    reported,
                    events,
                    results,
                    seen,
                    without_items=True,
                )
                diagnostics += unreadable_as_finding("the reports", reports)
                diagnostics += _too_old(plan, store, folder) if diagnostics else ()
                diagnostics += unreadable_as_finding("the race", of_witness(plan, store, reported, events))
                recorded = recorded_at_the_end(store, progress, conclusion)
                clock = tuple(of_clock(store, events, plan.study_digest))
    except VerificationError as error:
        raise VerificationError([*changed, *error.diagnostics]) from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        message = f"what the bundle holds does not fit together ({type(error).__name__}: {str(error)[:100]})"
        diagnostics.append(Diagnostic("GC701", message, str(folder)))
        raise VerificationError([*changed, *diagnostics]) from None
    except GridcError as error:
        raise VerificationError([*changed, *diagnostics, *error.diagnostics]) from None
    if changed or diagnostics:
        raise VerificationError([*changed, *diagnostics])
    text = stamped_words(lock, plan.study_digest)
    return VerifiedStudy(
        (
            f"{len(list(files_below(folder))) - 1} files are the ones that the manifest lists",
            f"the spec and the item and exemplar manifests are the ones that {text}",
            f"{len(events)} events follow from one another",
            f"{progress.answered:,} of {progress.total:,} calls have an answer; they hash right",
            "the samples are those of the plan",
            recorded,
            *seen.lines(),
            same_behaviour(lock, compiled.study.stamped()),
            "not checked: whether the answers score as stored, and whether the right options, tags, labels "
            "and numbers of rows are those of the items, because the items are not in the bundle",
            *_texts_unseen(plan, events),
            *earlier_studies(lock, events, plan.study_digest),
            *prml.checked(folder / CLAIMS),
            *shown.lines,
            *clock,
        ),
        concluded,
        shown.of_lock,
        shown.of_results,
        seen.made,
    )


def _digest_of(path: Path) -> str:
    """SHA-256 of a file, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_REPORTS = [f"results/{name}" for name in (*NAMES, "witness.json", FINISH)]
_READ_WHOLE = {SPEC, LOCK, LOG, STUDY, ITEMS, ENVIRONMENT, CRATE}
_TIED = [f"{name}{suffix}" for name in ("gridcard.lock", f"results/{FINISH}") for suffix in SUFFIXES]
_KNOWN = {*_READ_WHOLE, *_REPORTS, *_TIED, CRATE, MANIFEST}
"""Every file that a bundle may hold."""


def _manifest(listed: Mapping[str, str]) -> str:
    """The manifest of files by name with their digests."""
    return "".join(f"{value}  {name}\n" for name, value in sorted(listed.items()))


def _manifest_text(folder: Path) -> str | None:
    """The manifest as it is there; None where it cannot be read."""
    with suppress(OSError, UnicodeDecodeError):
        if (folder / MANIFEST).stat().st_size <= MOST_JSON:
            return (folder / MANIFEST).read_text("utf-8")
    return None


def _digests_in(manifest: str) -> dict[str, str]:
    """The digests that a manifest lists, by the name of the file."""
    return {name: value for value, _, name in (line.partition("  ") for line in manifest.splitlines())}


def _changed_files(folder: Path) -> Iterator[Diagnostic]:
    """The files that do not hash to what the manifest lists."""
    listed = _digests_in(_manifest_text(folder) or "")
    for name in sorted(listed.keys() & set(files_below(folder))):  # a name may lead out of the folder
        path = folder / name
        if path.is_file() and not path.is_symlink() and _digest_of(path) != listed[name]:
            yield Diagnostic("GC701", f"{name} does not hash to what the manifest lists", str(folder))


def _listed(folder: Path) -> Iterator[Diagnostic]:
    """The files against the manifest: none missing, none more, no link that leads out, no pipe that is waited
    for, and nothing that gridc does not put into a bundle, listed or not."""
    text = _manifest_text(folder)
    if text is None:
        yield Diagnostic("GC701", f"there is no readable {MANIFEST}, so this is not a bundle", str(folder))
        return
    listed = _digests_in(text)
    if text != _manifest(listed):
        message = f"{MANIFEST} is not one line for each file, in order, as gridc writes it"
        yield Diagnostic("GC701", message, str(folder))
    here = set(files_below(folder)) - {MANIFEST}
    for name in sorted(listed.keys() | here):
        path = folder / name
        if name not in here:
            yield Diagnostic("GC701", f"{name} is listed and not in the bundle", str(folder))
        elif path.is_symlink() or not path.is_file() or name not in listed:
            yield Diagnostic("GC701", f"{name} is in the bundle and not listed as a file", str(folder))
        elif name not in _KNOWN and path not in prml.files_in(folder / CLAIMS):
            yield Diagnostic("GC701", f"{name} is nothing that gridc puts into a bundle", str(folder))
        elif (name in _READ_WHOLE or name.endswith(".json")) and path.stat().st_size > MOST_JSON:
            yield Diagnostic("GC701", f"{name} is too large to be what it says it is", str(folder))
        elif name.endswith(".json") and not _reads_in_one_way(path):
            yield Diagnostic("GC701", f"{name} is not JSON that says each key once", str(folder))


def _reads_in_one_way(path: Path) -> bool:
    """Whether each object of a JSON file names a key once: readers take the first or the last."""
    try:
        json.loads(path.read_bytes(), object_pairs_hook=each_key_once)
    except (ValueError, RecursionError):
        return False
    return True


def _named(conclusion: RunFinished | None, folder: Path) -> Iterator[Diagnostic]:
    """The tags, labels and numbers of rows against what the run recorded. An older gridc recorded nothing of
    them: then a change is found only where a report does not follow from it."""
    if conclusion is None or conclusion.named is None:
        return
    if listed_digest(json.loads((folder / ITEMS).read_text("utf-8"))) != conclusion.named:
        message = f"the tags, labels or numbers of rows in {ITEMS} are not those that the run recorded"
        yield Diagnostic("GC701", message, str(folder))


def _too_old(plan: Plan, store: Store, folder: Path) -> Iterator[Diagnostic]:
    """Why reports may differ that nobody changed: the bundle has not what rates are counted by."""
    listed = json.loads((folder / ITEMS).read_text("utf-8"))
    if not store.shown(plan.study_digest) or any("rows" not in benchmark for benchmark in listed.values()):
        message = "the bundle lacks what rates and left-out rows are counted by, as an older gridc made it"
        help = "`gridc run` completes the store without a call, and `gridc export bundle` makes it again"
        yield Diagnostic("GC701", message, str(folder), help=help)


def _derived(
    compiled: Compiled, lock: Lock, store: Store, events: Sequence[Event], folder: Path
) -> Iterator[Diagnostic]:
    """The documents that follow from the others, made again for the version of gridc that they name."""
    loaded = [load.as_json() for load in store.bodies_of(ModelLoaded)]
    environment = json.loads((folder / ENVIRONMENT).read_text("utf-8"))
    if environment != {"gridc": str(environment["gridc"]), "loaded": loaded}:
        yield Diagnostic("GC701", f"{ENVIRONMENT} is not what the events say was loaded", str(folder))
    crate = json.loads((folder / CRATE).read_text("utf-8"))
    versions = [node["softwareVersion"] for node in crate["@graph"] if node["@id"] == "#gridc"]
    names = sorted(set(files_below(folder)) - {MANIFEST, CRATE})
    ended = max((event.at for event in events), default=lock.created)
    # Before 0.6.0 no crate named the stamps that the lock's replaced; `earlier_studies` says them of all.
    locks = [lock] if versions == [__version__] else [lock, replace(lock, supersedes=())]
    if len(versions) != 1 or crate not in [
        _crate(compiled, each, ended, names, versions[0]) for each in locks
    ]:
        yield Diagnostic("GC701", f"{CRATE} does not describe this bundle", str(folder))
    if environment["gridc"] != versions[0]:
        yield Diagnostic("GC701", f"{CRATE} and {ENVIRONMENT} name two versions of gridc", str(folder))


def _texts_unseen(plan: Plan, events: Sequence[Event]) -> Iterator[str]:
    """In a line, the sealed maps of which the texts cannot be told here."""
    sealed = [record.about for record in bodies_of(events, Sealed, plan.study_digest)]
    unseen = ", ".join(about for about in sealed if takes_items(plan, about))
    if unseen:
        yield f"not checked: whether the texts of sealed maps ({unseen}) are those that were shown"


def _sampled(plan: Plan, store: Store) -> Iterator[Diagnostic]:
    """The samples against the plan's: every item of every cell, as often as the cell is replicated."""
    stored, stepped = store.outcomes(plan.study_digest), store.stepped(plan.study_digest)
    for cell in plan.cells():
        if cell.setting.scaffolding is None and cell.key in stepped:
            yield Diagnostic("GC704", f"{cell.key}: a call is named as a step, and there is no scaffold")
        outcomes = stored.pop(cell.key, None)
        items = plan.study.items[cell.benchmark].asked(subset=cell.setting.items)
        names = tuple(sorted(item.id for item in items))
        if (
            outcomes is None
            or outcomes.items != names
            or set(outcomes.trials.tolist()) != {cell.setting.replicates}
        ):
            yield Diagnostic("GC704", f"{cell.key}: the store does not have the samples of the plan")
    for key in stored:
        yield Diagnostic("GC704", f"{key} is not in the plan")


def _crate(
    compiled: Compiled, lock: Lock, ended: str, names: list[str], version: str = __version__
) -> dict[str, Any]:
    """RO-Crate 1.2 metadata: the files, the run that made the store, and the stamps that were replaced."""
    study = compiled.spec.study
    tool = {"@id": "#gridc", "@type": "SoftwareApplication", "name": "gridc", "softwareVersion": version}
    replaced = [
        {
            "@id": f"#stamp-{earlier.stamp}",
            "@type": "ReplaceAction",
            "name": "A stamp that was replaced",
            "description": f"Stamp {earlier.stamp}, made {earlier.created}. No row of its study is here.",
            "result": {"@id": "gridcard.lock"},
        }
        for earlier in lock.supersedes
    ]
    return {
        "@context": "https://w3id.org/ro/crate/1.2/context",
        "@graph": [
            {
                "@id": CRATE,
                "@type": "CreativeWork",
                "about": {"@id": "./"},
                "conformsTo": {"@id": "https://w3id.org/ro/crate/1.2"},
            },
            {
                "@id": "./",
                "@type": "Dataset",
                "name": study.title,
                "description": f"Evaluation study {study.id}: spec, lock, calls with their answers, "
                f"certificate and GRID cards. Stamp {Plan(compiled.study).study_digest}.",
                "datePublished": ended[:10],
                "license": "not stated; benchmark items keep the licences of their sources",
                "hasPart": [{"@id": name} for name in names],
                "mentions": [{"@id": "#run"}, *({"@id": each["@id"]} for each in replaced)]
                if replaced
                else {"@id": "#run"},
            },
            {
                "@id": "#run",
                "@type": "CreateAction",
                "name": "The run that made the store",
                "instrument": {"@id": "#gridc"},
                "object": [{"@id": "gridcard.toml"}, {"@id": "gridcard.lock"}],
                "result": {"@id": "results/store.sqlite"},
                "endTime": ended,
            },
            *replaced,
            tool,
            *({"@id": name, "@type": "File", "name": Path(name).name} for name in names),
        ],
    }
