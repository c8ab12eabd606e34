"""How results that have no page of their own look in a notebook: their JSON as tables."""

from typing import Any, Protocol


class _AsJson(Protocol):
    def as_json(self) -> Any: ...


class InNotebook:
    """A result with `as_json`, whose keys and rows a notebook shows."""

    __slots__ = ()

    def _repr_html_(self: _AsJson) -> str:
        from gridc.reports.rendering import json_html

        return json_html(type(self).__name__, self.as_json())
