"""docs/architecture.svg is what the imports are today."""

from collections.abc import Mapping, Sequence

import pytest

from tools import architecture


def test_the_drawing_is_of_this_code() -> None:
    drawing = architecture.drawn(architecture.graph())
    assert architecture.DRAWING.read_text() == drawing, "python -m tools.architecture draws it again"


@pytest.mark.parametrize(
    ("stop", "said"),
    [("compiler.parser", "there is no module"), ("statistics.margins", "no import joins")],
)
def test_a_way_that_the_code_does_not_take_is_an_error(
    monkeypatch: pytest.MonkeyPatch, stop: str, said: str
) -> None:
    way: Mapping[str, Sequence[tuple[str, str]]] = {"a spec": (("diagnostics.errors", ""), (stop, ""))}
    monkeypatch.setattr(architecture, "WAYS", way)
    with pytest.raises(architecture.Stray, match=said):
        architecture.drawn(architecture.graph())
