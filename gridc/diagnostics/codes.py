"""The catalogue of codes: what each finding means, why gridc cares, the way out, and for some an example.

What is said of a code stands in the `codes.toml` of the room that raises it; all of them together are the
catalogue. They are data, so that a code is explained without importing what raises it.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Code:
    """A catalogue entry: a one-line title, the long form that `gridc explain` prints, and a part of a spec
    in which what is wrong is marked `# not:` and what is right `# but:`."""

    title: str
    explanation: str
    example: str | None = None


class Catalogue(Mapping[str, Code]):
    """Every code, in order. The rooms are read when the first one is looked up, which most commands never do.

    Raises `ValueError` where two rooms explain one code.
    """

    @cached_property
    def _codes(self) -> dict[str, Code]:
        by_code: dict[str, Code] = {}
        for room in PACKAGE.rglob("codes.toml"):
            for code, stated in tomllib.loads(room.read_text("utf-8")).items():
                if code in by_code:
                    raise ValueError(f"{code} is explained twice, once in {room.relative_to(PACKAGE)}")
                explanation = " ".join(stated["explanation"].split())
                by_code[code] = Code(stated["title"], explanation, stated.get("example"))
        return dict(sorted(by_code.items()))

    def __getitem__(self, code: str) -> Code:
        return self._codes[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)


CODES = Catalogue()
