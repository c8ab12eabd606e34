"""The viewer's pages as files that work without it: the same pages, linked to each other by their names.

Pages are written in the order in which links lead to them, so that those near the start are there however few
are written; a link to a page that was left out is plain text.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from gridc.reports.folders import new_folder
from gridc.viewer.pages import Viewer
from gridc.viewer.templates import ASSETS, asset
from gridc.viewer.view import PageRequest

MOST_PAGES = 5_000


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: the folder, how many pages, and how many further pages links would lead to."""

    folder: Path
    pages: int
    left_out: int


def export(viewer: Viewer, folder: Path, most: int, progress: Callable[[int], None]) -> Exported:
    """Write pages into a new folder; it appears whole or not at all. `progress` is told how many are written.

    Raises `UsageError` (GC000) where the folder exists.
    """
    with new_folder(folder) as draft:
        start = "/compare" if len(viewer.sources) > 1 else "/study"
        names, waiting, left_out = {start: "index.html"}, deque([start]), set[str]()

        def to(path: str) -> str | None:
            if path not in names:
                if len(names) >= most:
                    left_out.add(path)
                    return None
                names[path] = _name(path)
                waiting.append(path)
            return names[path]

        pages = 0
        while waiting:
            path = waiting.popleft()
            parts = urlsplit(path)
            request = PageRequest(parts.path.removeprefix("/"), dict(parse_qsl(parts.query)), to, live=False)
            (draft / names[path]).write_text(viewer.page(request), "utf-8")
            pages += 1
            progress(pages)
        for name in ASSETS:
            (draft / name).write_bytes(asset(name))
    return Exported(folder, pages, len(left_out))


def _name(path: str) -> str:
    """A file name for a page: what it is, and a digest of its address, which may hold anything."""
    return f"{urlsplit(path).path.strip('/')}-{sha256(path.encode()).hexdigest()[:16]}.html"
