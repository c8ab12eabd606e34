"""gridc: a compiler for evaluation studies of language models.

`gridc.open("gridcard.toml")` is the Python API. Its parts are imported when they are first named, so that
`import gridc` costs nothing; `__init__.pyi` tells type checkers what there is.
"""

from importlib import import_module
from typing import Any

__version__ = "1.0.0rc1"

_HOMES = {
    "Diagnostic": "gridc.diagnostics.errors",
    "GridcError": "gridc.diagnostics.errors",
    "OpenStudy": "gridc.study",
    "RayCluster": "gridc.study",
    "Trust": "gridc.study",
    "assert_not_worse": "gridc.study",
    "baseline": "gridc.study",
    "certify": "gridc.study",
    "compare": "gridc.study",
    "diff": "gridc.study",
    "open": "gridc.study",
    "propagation": "gridc.study",
    "report_all": "gridc.study",
    "view": "gridc.study",
    "view_pages": "gridc.study",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gridc' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return ["__version__", *_HOMES]
