"""Where the things that a spec names lie on this machine: `builtin:`, `path:` and `data:` references."""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath

from gridc.files import is_there

BUILTIN_PROMPTS = Path(str(resources.files("gridc"))) / "templates" / "prompts"
BUILTIN_MODELS = Path(str(resources.files("gridc"))) / "builtin" / "models"
BUILTIN_MEASURANDS = Path(str(resources.files("gridc"))) / "builtin" / "measurands"
BUILTIN_BENCHMARKS = Path(str(resources.files("gridc"))) / "builtin" / "benchmarks"
BESIDE = "it is looked up beside the spec"
DATA_FOLDER = "give --data FOLDER or set GRIDC_DATA"
MODELS_FOLDER = "give --models FOLDER or set GRIDC_MODELS"


class NotFound(Exception):
    """A reference that leads nowhere here; `code` says why, `help` the way out. `anywhere`: nor would it lead
    somewhere on another machine."""

    def __init__(self, code: str, problem: str, help: str | None = None, anywhere: bool = False) -> None:
        self.code, self.problem, self.help, self.anywhere = code, problem, help, anywhere
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class ReferenceFolders:
    """The folders that references are looked up in: the spec's own, and those of benchmark data and of models
    that the person who runs it gives."""

    spec_folder: Path
    data_folder: Path | None = None
    models_folder: Path | None = None

    def prompt(self, reference: str) -> str:
        """The text of a template: a builtin, a file beside the spec or among the data, or the reference
        itself when it is inline."""
        scheme, _, name = reference.partition(":")
        if scheme == "builtin" and "\n" not in name:
            path = BUILTIN_PROMPTS / f"{_inside(name)}.jinja"
            self._require(path, reference, _listing(BUILTIN_PROMPTS, "*.jinja"))
        elif scheme == "path" and "\n" not in name:
            path = self.spec_folder / _inside(name)
            self._require(path, reference, BESIDE)
        elif scheme == "data" and "\n" not in name:
            if self.data_folder is None:
                raise NotFound("GC309", f"`{reference}` is not here", DATA_FOLDER)
            path = self.data_folder / _inside(name)
            self._require(path, reference, _lookup_help(self.data_folder, name, scheme))
        else:
            return reference
        try:
            return path.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise NotFound("GC310", f"`{reference}` is not UTF-8 at byte {error.start}") from None

    def benchmark(self, reference: str) -> tuple[tuple[str, Path], ...]:
        """The files of a benchmark that lie on this machine, by name: one, or all that fit a pattern."""
        scheme, _, name = reference.partition(":")
        if scheme == "builtin":
            return self._files(BUILTIN_BENCHMARKS, name, reference, _listing(BUILTIN_BENCHMARKS, "*.json*"))
        if scheme == "path":
            return self._files(
                self.spec_folder, name, reference, _lookup_help(self.spec_folder, name, scheme, BESIDE)
            )
        if self.data_folder is None:
            _inside(name)
            raise NotFound("GC309", f"`{reference}` is not here", DATA_FOLDER)
        return self._files(self.data_folder, name, reference, _lookup_help(self.data_folder, name, scheme))

    def listing(self, reference: str) -> Path:
        """A file beside the spec that lists items: `path:FILE`."""
        path = self.spec_folder / _inside(reference.removeprefix("path:"))
        self._require(path, reference, BESIDE)
        return path

    def _files(
        self, folder: Path, name: str, reference: str, help: str | None = None
    ) -> tuple[tuple[str, Path], ...]:
        if not is_pattern(name):
            path = folder / _inside(name)
            self._require(path, reference, help)
            return ((name, path),)
        paths = fitting(folder, str(_inside(name)))
        if not paths:
            raise NotFound("GC309", f"no file fits `{reference}`", help)
        for path in paths:
            self._contained(path, reference)
        return tuple((path.relative_to(folder).as_posix(), path) for path in paths)

    def model(self, reference: str) -> Path:
        """The folder of a local model."""
        scheme, _, name = reference.partition(":")
        if scheme == "builtin":
            path = BUILTIN_MODELS / _inside(name)
            help = _lookup_help(BUILTIN_MODELS, name, scheme, _listing(BUILTIN_MODELS, "*"))
        elif scheme == "models":
            if self.models_folder is None:
                _inside(name)
                raise NotFound("GC309", f"`{reference}` is not here", MODELS_FOLDER)
            path, help = self.models_folder / _inside(name), _lookup_help(self.models_folder, name, scheme)
        else:
            path, help = (
                self.spec_folder / _inside(name),
                _lookup_help(self.spec_folder, name, scheme, BESIDE),
            )
        if not is_there(path, Path.is_dir):
            raise NotFound("GC309", f"`{reference}` is not a folder", help)
        return self._contained(path, reference)

    def _require(self, path: Path, reference: str, help: str | None = None) -> None:
        if not is_there(path, Path.is_file):
            raise NotFound("GC309", f"`{reference}` is not a file", help)
        self._contained(path, reference)

    def _contained(self, path: Path, reference: str) -> Path:
        """A link inside the spec's folder may not lead out of it either."""
        if reference.startswith("path:") and not path.resolve().is_relative_to(self.spec_folder.resolve()):
            raise NotFound("GC308", f"`{reference}` leads outside the spec's folder")
        return path


def is_pattern(name: str) -> bool:
    """Whether a file's name stands for every file that fits it."""
    return "*" in name


def fitting(folder: Path, pattern: str) -> list[Path]:
    """The files below a folder that fit a pattern, by name; none where it is no pattern."""
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_file())
    except (ValueError, OSError):
        return []


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise NotFound("GC308", f"`{name}` leaves its folder", "name a file below the folder, without `..`")
    return path


def _lookup_help(folder: Path, name: str, scheme: str, explanation: str | None = None) -> str:
    """Where a name was looked up, and the nearest thing that lies there."""
    from difflib import get_close_matches

    parent = folder / PurePosixPath(name).parent
    there = sorted(path.name for path in parent.iterdir()) if is_there(parent, Path.is_dir) else []
    near = get_close_matches(PurePosixPath(name).name, there, n=1, cutoff=0.6)
    meant = f"; did you mean `{scheme}:{PurePosixPath(name).with_name(near[0])}`?" if near else ""
    return f"{explanation or f'it is looked up below {folder}'}{meant}"


def _listing(folder: Path, pattern: str) -> str:
    names = sorted(path.name.removesuffix(".jinja") for path in folder.glob(pattern))
    return f"gridc ships {', '.join(f'`{name}`' for name in names)}"
