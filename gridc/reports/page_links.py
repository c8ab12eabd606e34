"""The addresses of the pages of `gridc view`, as paths on its server.

All state is in the address, so that a link shows somebody else the same page. A path begins with `/` and has
every identifier in its query; keys without a value are left out, so that one page has one address. The report
page links here too.
"""

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlencode

HOST, PORT = "127.0.0.1", 8417
"""Where `gridc view` listens unless it is told another port."""

StoreSide = Literal["", "2"]
"""Which store a page is about: the first, or the one that it is compared with (`2`)."""


Value = str | int | None


def server(port: int = PORT) -> str:
    """What comes before a path where a document outside of the server links to it."""
    return f"http://{HOST}:{port}"


def address(page: str, values: Mapping[str, Value] | None = None) -> str:
    """A page with its query, sorted as given; empty values are left out."""
    query = urlencode([(key, value) for key, value in (values or {}).items() if value not in (None, "")])
    return f"/{page}?{query}" if query else f"/{page}"


def study(stamp: str, store: StoreSide = "") -> str:
    """A study with the flip surfaces of its benchmarks. `stamp` is the digest of the study as it was run;
    its first letters are enough."""
    return address("study", {"study": stamp_prefix(stamp), "store": store})


def surface(stamp: str, benchmark: str, a: str = "", b: str = "", store: StoreSide = "") -> str:
    """The flip surface of one benchmark, for one pair of models or for all."""
    return address(
        "surface", {"study": stamp_prefix(stamp), "store": store, "benchmark": benchmark, "a": a, "b": b}
    )


def cell(stamp: str, key: str, store: StoreSide = "") -> str:
    """A cell by its key, `model/benchmark/configuration`, with its samples."""
    return address("cell", {"study": stamp_prefix(stamp), "store": store, "cell": key})


def pair_link(
    stamp: str,
    benchmark: str,
    configuration: str,
    a: str,
    b: str,
    store: StoreSide = "",
    differ: str = "score",
) -> str:
    """The items of a benchmark on which two models differ under one configuration. `differ` is `score`,
    `a` or `b` (which one scores higher), `choice`, or `all`."""
    where = {"benchmark": benchmark, "configuration": configuration, "a": a, "b": b}
    return address("pair", {"study": stamp_prefix(stamp), "store": store, **where, "differ": differ})


def questions(stamp: str, store: StoreSide = "", **filters: Value) -> str:
    """The questions of a benchmark by models and configurations; docs/viewer.md lists the filters."""
    return address("questions", {"study": stamp_prefix(stamp), "store": store, **filters})


def item_link(stamp: str, benchmark: str, item: str, store: StoreSide = "", **within: Value) -> str:
    """One item under all configurations and models, among the questions that are filtered and sorted so."""
    where = {"study": stamp_prefix(stamp), "store": store, "benchmark": benchmark, "item": item}
    return address("item", {**where, **within})


def sample_link(
    stamp: str, key: str, item: str, replicate: int = 0, store: StoreSide = "", within: str = ""
) -> str:
    """One item asked once in a cell: prompt, response, calls. `within` is the query of the list of samples
    that it is one of."""
    place: dict[str, Value] = {"cell": key, "item": item, "replicate": replicate, "list": within}
    return address("sample", {"study": stamp_prefix(stamp), "store": store, **place})


def labels(stamp: str, store: StoreSide = "") -> str:
    """What people said of answers in the viewer."""
    return address("labels", {"study": stamp_prefix(stamp), "store": store})


def side_by_side(
    stamp: str, left: str, right: str, item: str, replicate: int = 0, store: StoreSide = ""
) -> str:
    """The responses of two cells (by key) to one item, side by side."""
    where = {"study": stamp_prefix(stamp), "store": store, "left": left, "right": right, "item": item}
    return address("beside", {**where, "replicate": replicate})


def samples(stamp: str, store: StoreSide = "", **filters: Value) -> str:
    """The samples of a study that pass filters; docs/viewer.md lists them."""
    return address("samples", {"study": stamp_prefix(stamp), "store": store, **filters})


def curves(stamp: str, curve: str = "", store: StoreSide = "") -> str:
    """The specification curves of a study: the one of this name, or the first."""
    return address("curves", {"study": stamp_prefix(stamp), "store": store, "curve": curve})


def stamp_prefix(stamp: str) -> str:
    """As much of a stamp as an address needs."""
    return stamp[:12]
