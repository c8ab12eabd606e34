"""The first spec of a study, and the schema beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gridc.compiler import draft
from gridc.compiler.frontend.read import read_spec
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.files import write_atomic
from gridc.schema import jsonschema
from gridc.study.place import SPEC_NAME

TITLE, MODELS, BENCHMARKS = draft.TITLE, draft.MODELS, draft.BENCHMARKS
"""What a first study is of, where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The two files of a study that begins."""

    spec: Path
    schema: Path

    @classmethod
    def at(cls, out: Path) -> "Beginning":
        """`out` is the spec to write, or its folder."""
        spec = out if out.suffix == ".toml" and not out.is_dir() else out / SPEC_NAME
        return cls(spec, spec.with_name(jsonschema.file_name("gridcard")))

    def require_free(self) -> None:
        """Raise `UsageError` where a spec, or another schema, is there already."""
        files = {self.schema: jsonschema.text(), self.spec: ""}
        taken = [path for path, text in files.items() if path.exists() and path.read_bytes() != text.encode()]
        if taken:
            help = "--force overwrites it; --out names another file"
            raise UsageError(
                Diagnostic("GC000", "there is a file here already", str(path), help=help) for path in taken
            )

    def write(self, title: str, models: Sequence[str], benchmarks: Sequence[str]) -> list[str]:
        """Write both, and say what was seen in files. Raises `UsageError` for a source that stands for
        nothing."""
        folder = self.spec.absolute().parent
        first = draft.draft(folder, title, tuple(models), tuple(benchmarks))
        text = first.text()
        self.spec.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.schema, jsonschema.text())
        write_atomic(self.spec, text)
        return [benchmark.said for benchmark in first.benchmarks if benchmark.said]

    def check(self) -> None:
        """Raise `SpecError` where the spec names what is not there."""
        read_spec(self.spec)
