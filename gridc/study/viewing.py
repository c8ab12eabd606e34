"""Show what a store holds: as pages on this machine, or as files."""

import json
import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, StoreError, UsageError
from gridc.reports import page_links
from gridc.reports.comparison.baseline import is_baseline
from gridc.reports.exchange import is_bundle
from gridc.reports.exchange.recorded_study import ITEMS
from gridc.reports.findings.curves import CurveFinding, curve_findings
from gridc.reports.findings.item_counts import readings_of
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.scores import item_outcomes
from gridc.reports.verification import MOST_JSON
from gridc.runtime.blinding import allowed_labels, auditable
from gridc.runtime.store.store import Store
from gridc.study import LogOptions
from gridc.study.place import Place, operand
from gridc.study.recorded import certify, is_log_path
from gridc.viewer import server
from gridc.viewer.figures import StatedCurves
from gridc.viewer.labels import LabelFile
from gridc.viewer.pages import Viewer
from gridc.viewer.server import MOST_PAGES, ExportedPages, export_pages
from gridc.viewer.store import StoredStudy, Tags
from gridc.viewer.view import OpenStore

__all__ = ["MOST_PAGES", "ExportedPages", "serve_pages", "write_pages"]


def serve_pages(
    places: list[Place], port: int, ready: Callable[[str], None], logs: LogOptions | None = None
) -> None:
    """Answer on 127.0.0.1 until Ctrl-C; `ready` is told the address of the first page."""
    server.require_packages()
    with _opened(places, logs) as (viewer, start):
        server.serve_viewer(viewer, server.listen(port), lambda root: ready(root + start.removeprefix("/")))


def write_pages(
    places: list[Place],
    folder: Path,
    most: int,
    progress: Callable[[int], None],
    logs: LogOptions | None = None,
) -> ExportedPages:
    """The pages as files in a new folder."""
    with _opened(places, logs) as (viewer, _):
        return export_pages(viewer, folder, most, progress)


@contextmanager
def _opened(places: list[Place], options: LogOptions | None = None) -> Iterator[tuple[Viewer, str]]:
    """The stores of one or two places, and the address of the page to begin with."""
    with ExitStack() as stack:
        sources: list[OpenStore] = []
        studies: list[StoredStudy] = []
        start, read = "/", 0
        for place in places:
            given = place.spec.parent if place.spec.name == "gridcard.toml" else place.spec
            logs = _of_logs(given, options, stack)
            read += logs is not None
            opened = _store(place) if logs is None else ViewedStore(logs)
            named = opened.named
            source = OpenStore(opened.path, opened.tags, opened.curves, named, opened.labels)
            stack.callback(source.close)
            sources.append(source)
            with source.reader.moment() as moment:
                studies.append(source.studies.study(moment))  # counted before the first page
            if named and len(sources) == 1:
                start = page_links.study(studies[0].stamp)
        if options and any(options.values()) and not read:
            message = "no logs are opened, and these options say how logs are read"
            raise UsageError([Diagnostic("GC000", message, help="a store needs none: leave them out")])
        viewer = Viewer(sources)
        yield viewer, viewer.first_page() if len(sources) > 1 else start


def _of_logs(path: Path, options: LogOptions | None, opened: ExitStack) -> Path | None:
    """A store of logs that are given in the place of one; None where they are none."""
    if not is_log_path(path):
        return None
    folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="gridc-logs-")))
    certify([path], options=options).record(folder / f"{path.name}.sqlite")
    return folder / f"{path.name}.sqlite"


class ViewedStore(NamedTuple):
    """A store and what is known beside it: the tags of its items, how the stamp of the study begins that is
    meant (None: the only one), its curves, and where people's labels are kept."""

    path: Path
    tags: Tags = {}  # noqa: RUF012
    named: str | None = None
    curves: StatedCurves | None = None
    labels: LabelFile | None = None


def _store(place: Place) -> ViewedStore:
    """The store that a path means: the path of a store, of a folder with one, of a bundle, or of a spec.
    Labels are kept where there is a spec: it says which labels an answer can have, and reads them back."""
    folder = place.spec.parent if place.spec.name == "gridcard.toml" else place.spec
    if is_bundle(folder):
        return ViewedStore(folder / "results" / "store.sqlite", _listed_tags(folder / ITEMS))
    given, named = operand(str(place.spec if place.spec.exists() else folder))
    if is_baseline(given):
        help = "name the run that it was made of: its results folder, or its logs"
        message = "this file of `gridc baseline` keeps scores, and no texts to show"
        raise UsageError([Diagnostic("GC000", message, str(given), help=help)])
    if given.suffix in (".sqlite", ".db"):
        return ViewedStore(given, named=named)
    compiled = place.compiled()
    tags = {
        name: {item.id: item.tags for item in items.sampled} for name, items in compiled.study.items.items()
    }
    plan, path = Plan(compiled.study), place.store(compiled)
    curves = StatedCurves(plan.study_digest, partial(_curves, plan, path)) if plan.study.spec.curve else None
    with Store.open(path) as store:
        ran = plan.study_digest in store.stamps()  # the spec may have been changed since
    stamp = plan.study_digest
    kept = path.with_name(f"labels-{stamp[:12]}.jsonl")
    labels = LabelFile(kept, stamp, _allowed(plan), _reads(place, kept)) if ran else None
    return ViewedStore(path, tags, stamp if ran else None, curves, labels)


def _reads(place: Place, labels: Path) -> str:
    """The command that reads labels back, from any folder."""
    options = {"--data": place.data, "--models": place.models, "--out": place.results}
    given = [part for name, path in options.items() if path for part in (name, str(path))]
    return shlex.join(["gridc", "audit", "read", str(labels), str(place.spec), *given])


def _allowed(plan: Plan) -> Callable[[str, str], tuple[str, ...]]:
    """The labels that people can give the answer of a cell to an item: those of a sheet of `gridc audit`;
    none where nothing is read from a text."""
    cells = {cell.key: cell for cell in auditable(plan)}

    @cache
    def items(key: str) -> dict[str, Item]:
        return {item.id: item for item in plan.items(cells[key])}

    def allowed(key: str, item: str) -> tuple[str, ...]:
        if key not in cells or item not in items(key):
            return ()
        return allowed_labels(plan.study.spec, cells[key], items(key)[item])

    return allowed


def _curves(plan: Plan, path: Path) -> tuple[CurveFinding, ...]:
    with Store.open(path) as store:
        stamp = plan.study_digest
        read, responses = partial(readings_of, store, stamp), partial(store.responses_of, stamp)
        return curve_findings(Samples(plan, item_outcomes(plan.cells(), store, stamp), read, responses))


def _listed_tags(path: Path) -> Tags:
    """The tags that a bundle lists: those by which its spec selects items. Somebody else wrote the file, so
    what has another form than gridc's is refused (GC605)."""
    if not path.exists():
        return {}
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_JSON:
            raise ValueError("it is not a file, or too large")
        listed = json.loads(path.read_text("utf-8"))
        return {
            str(benchmark): {
                str(item): {str(name): str(value) for name, value in tags.items()}
                for item, tags in about.get("tags", {}).items()
            }
            for benchmark, about in listed.items()
        }
    except (ValueError, AttributeError, RecursionError) as error:
        message = f"the list of items cannot be read: {error}"
        raise StoreError([Diagnostic("GC605", message, str(path))]) from None
