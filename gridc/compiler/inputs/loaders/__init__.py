"""Loaders: the compiler's front ends. Each reads one upstream file format into items.

A loader is a pure function from a file and what the spec says of its loading to items in file order. One more
is a module of `gridc.adapters.benchmarks` that registers it in `files.LOADERS`, and a row of
`schema.items.LOADER_KINDS`. Here is what they share, and the loader of any table (`rows`).
`docs/benchmarks.md` says of each which file it reads, which answer is right and what is odd about it.
"""

from collections.abc import Sequence

from gridc.compiler.frontend.plugins import find_plugin
from gridc.compiler.inputs.loaders import rows
from gridc.compiler.inputs.loaders.parsing import LOADERS, File, Malformed
from gridc.compiler.instrument.item import Item
from gridc.schema.base import PLUGIN
from gridc.schema.items import Loading, loader_kind


def complete_loading(loader: str, files: Sequence[File], loading: Loading) -> rows.CompletedLoading:
    """What the loader has to be told, with what the files themselves say filled in. Raises `Malformed` and
    `Misread`."""
    if not loader_kind(loader).mapped:
        return rows.CompletedLoading(loading, {}, ())
    return rows.complete_from_rows(files, loading)


def load_items(loader: str, file: File, loading: Loading) -> list[Item]:
    """The items of a file. Raises `Malformed`, and `PluginError` where the loader is a plug-in that is
    missing or fails."""
    if not loader.startswith(PLUGIN):
        return LOADERS[loader](file, loading)
    plugin = find_plugin("loader", loader)
    load = plugin.load()
    try:
        items = list(load(file, loading))
        strangers = [item for item in items if not isinstance(item, Item)]
        if strangers:
            raise TypeError(f"it gives {type(strangers[0]).__name__}, not Item")
        return items
    except Malformed:
        raise
    except Exception as error:  # a plug-in can fail as any program can
        raise plugin.failed(error) from None
