"""What an attack is, and how the check that catches it is taken away. The pattern is the museum's."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from _pytest.monkeypatch import MonkeyPatch

Patch = Callable[[MonkeyPatch], object]


@dataclass(frozen=True)
class Attack:
    """What `liar` does, and the code or property that must catch it. `seen` carries the attack out in an
    empty folder and says what caught it; `remove` takes that one check away."""

    id: str
    liar: str
    done: str
    caught: str
    seen: Callable[[Path, MonkeyPatch], set[str]]
    remove: Patch


ATTACKS: list[Attack] = []


def attack(liar: str, done: str, caught: str, remove: Patch) -> Callable[..., Callable[..., set[str]]]:
    """Enter the attack that a function carries out into the catalogue."""

    def enter(seen: Callable[[Path, MonkeyPatch], set[str]]) -> Callable[..., set[str]]:
        ATTACKS.append(Attack(seen.__name__.replace("_", "-"), liar, done, caught, seen, remove))
        return seen

    return enter


def instead(*changes: tuple[object, str, object]) -> Patch:
    """Take checks away by putting others in their place: (module or class, name, replacement)."""

    def remove(patch: MonkeyPatch) -> None:
        for place, name, other in changes:
            patch.setattr(place, name, other)

    return remove


def nothing(*_: object, **__: object) -> tuple[()]:
    """A check that finds nothing."""
    return ()
