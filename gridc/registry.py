"""Named things that gridc has several of, each registered where it is defined.

    LOADERS: Registry[Loader] = Registry("gridc.compiler.inputs.loaders", "gridc.adapters.benchmarks")

    @LOADERS.add("bbq")
    def load(file: File, loading: Loading) -> list[Item]: ...

The first reading imports every module of the packages, so that nobody keeps a list of them.
`tests/test_registries.py` knows every registry, and docs/registries.md lists what is in each.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from threading import RLock
from typing import TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """What registers in the modules of packages, in the order of the places that are stated, and of names
    where none is. Without a package: what registers in the registry's own module, in that order."""

    def __init__(self, *packages: str) -> None:
        self._packages, self._lock = packages, RLock()
        self._filling, self._full = False, not packages
        self._things: dict[str, T] = {}
        self._places: dict[str, tuple[int, ...]] = {}

    def add(self, name: str, *place: int) -> Callable[[T], T]:
        """A decorator that registers a thing. Raises ImportError for a name that is taken, and for a module
        outside the package that registers once the registry was read."""

        def register(thing: T) -> T:
            if name in self._things:
                raise ImportError(f"two things are registered as `{name}`: {self._things[name]!r}, {thing!r}")
            if self._packages and self._full:
                raise ImportError(f"`{name}` is registered by a module that is not one of {self._where}")
            self._things[name], self._places[name] = thing, place
            return thing

        return register

    def __getitem__(self, name: str) -> T:
        return self._filled()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._filled())

    def __len__(self) -> int:
        return len(self._filled())

    @property
    def _where(self) -> str:
        return " or ".join(self._packages)

    def _filled(self) -> Mapping[str, T]:
        if not self._full:
            with self._lock:
                if self._filling:
                    raise ImportError(f"what registers in {self._where} is read while it is imported")
                if not self._full:
                    self._fill()
        return self._things

    def _fill(self) -> None:
        self._filling = True
        try:
            for package in self._packages:
                for module in iter_modules(import_module(package).__path__, f"{package}."):
                    import_module(module.name)
        finally:
            self._filling = False
        order = sorted(self._things, key=lambda name: (self._places[name], name))
        self._things = {name: self._things[name] for name in order}
        self._full = True
