"""Small studies to attack."""

from pathlib import Path

from tests.museum.conftest import SOUND, Room


def write_study(folder: Path) -> Path:
    """A sound study that is neither stamped nor run; the path of its spec."""
    room = Room(folder)
    room.spec.write_text(SOUND, "utf-8")
    return room.facts().spec
