"""Golden pairs, many to a file: what each changes in `base.toml`, and what gridc answers.

    === GC303-levels                 a case; its name begins with the code that it shows
    @@@ gridcard.toml                a file, as changes of base.toml: ` ` stands, `-` goes, `+` comes
     id = "T4"
    -prompt = "builtin:T4"
    +prompt = "builtin:T1"
    --- mine.jinja                   a file of its own
    {{ question }}
    >>>                              the answer, up to the next case
    error[GC303]: ...

Changes are separated by a line `@`. Files under `stamped/` are those that were different when the study was
stamped; a case without `@@@ gridcard.toml` has base.toml as it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent / "diagnostics"
BASE = (HERE / "base.toml").read_text("utf-8")


@dataclass(frozen=True)
class Case:
    """A case: its file, its name, its inputs by name, and the answer that is expected."""

    path: Path
    name: str
    inputs: dict[str, bytes]
    answer: str

    @property
    def code(self) -> str:
        return self.name.partition("-")[0]

    def write(self, folder: Path) -> None:
        """Put its inputs into a folder."""
        for name, content in self.inputs.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)

    def rewrite(self, answer: str) -> None:
        """Put another answer into its file."""
        before, mark, rest = self.path.read_text("utf-8").partition(f"=== {self.name}\n")
        asked, _, rest = rest.partition(">>>\n")
        _, following, rest = rest.partition("\n=== ")
        text = f"{before}{mark}{asked}>>>\n{answer}"
        self.path.write_text(text + (f"\n=== {rest}" if following else ""), "utf-8")


def cases() -> list[Case]:
    """Every case, by name."""
    return sorted((case for path in HERE.glob("*.txt") for case in _read(path)), key=lambda case: case.name)


def _read(path: Path) -> Iterator[Case]:
    for text in re.split(r"^=== ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        asked, mark, answer = text.partition(">>>\n")
        assert mark, f"{path.name} has a case without an answer"
        head, *parts = re.split(r"^(---|@@@) (.+)\n", asked, flags=re.MULTILINE)
        inputs = {"gridcard.toml": BASE.encode()}
        for kind, name, content in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            name, _, encoding = name.partition(" ")
            text = content if kind == "---" else changed(BASE, content)
            inputs[name] = text.encode(encoding or "utf-8")
        yield Case(path, head.strip(), inputs, answer.rstrip("\n") + "\n")


def changed(base: str, changes: str) -> str:
    """The text after its changes, each of which must fit at exactly one place."""
    lines = base.split("\n")
    for change in re.split(r"^@\n", changes, flags=re.MULTILINE):
        rows = [row or " " for row in change.removesuffix("\n").split("\n")]
        before, after = ([row[1:] for row in rows if row[:1] in (" ", sign)] for sign in "-+")
        places = [at for at in range(len(lines)) if lines[at : at + len(before)] == before]
        assert before and len(places) == 1, f"{len(places)} places fit\n{change}"
        lines[places[0] : places[0] + len(before)] = after
    return "\n".join(lines)
