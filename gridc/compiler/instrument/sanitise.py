"""Take out of a response what shows its configuration. Pure: text in, text and counts out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sanitised:
    """What is left of a response, and how many pieces of each class were taken out. `kept` counts those that
    stayed because without them the response would read otherwise."""

    text: str
    removed: Mapping[str, int] = field(default_factory=dict)
    kept: int = 0


def sanitise(text: str, read: Callable[[str], object] = lambda text: None) -> Sanitised:
    """A response without what shows its configuration. `read` gives what the response says: it is the same of
    what is left."""
    return Sanitised(text)
