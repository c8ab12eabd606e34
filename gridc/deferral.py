"""Imports that other packages make for what gridc never asks of them, put off until somebody does.

transformers imports scipy's optimizers to train object detectors and torch's checkpoints of several machines,
accelerate the client of Amazon's cloud, httpx its own command line, and sqlite_utils pandas, where they are
installed: 0.7 seconds of CPU time in every run. Only processes that are gridc's own put imports off: in a
notebook other packages may depend on what a module holds.
"""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_LOSSES = ("deformable_detr", "for_object_detection", "grounding_dino", "lw_detr", "rf_detr", "rt_detr")
PUT_OFF: Mapping[str, str] = {
    **{f"transformers.loss.loss_{task}": "scipy.optimize" for task in _LOSSES},
    "transformers.distributed.checkpoint": "torch.distributed.checkpoint.hf_storage",
    "accelerate.commands.config.sagemaker": "boto3",
    "httpx": "httpx._main",
    "sqlite_utils.db": "pandas",
}
"""By a module, the one that it imports and that a stand-in takes the place of while it does."""


class _StandIn(ModuleType):
    """In the place of a module: each of its functions imports it when it is called."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)  # it is installed: `find_spec` asks for that

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def later(*arguments: Any, **named: Any) -> Any:
            return getattr(importlib.import_module(self.__name__), name)(*arguments, **named)

        return later


class _Deferring(Loader):
    """Runs a module while a stand-in takes the place of what it imports, and once more without one where a
    version of the module wants more of it than functions to call later."""

    def __init__(self, loader: Loader, absent: str) -> None:
        self._loader, self._absent = loader, absent

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if self._absent in sys.modules or not _installed(self._absent):
            self._loader.exec_module(module)
            return
        sys.modules[self._absent] = _StandIn(self._absent)
        try:
            self._loader.exec_module(module)
            return
        except Exception:  # of whatever kind: without the stand-in it is the module's own
            pass
        finally:
            del sys.modules[self._absent]
        self._loader.exec_module(module)


def _installed(module: str) -> bool:
    return PathFinder.find_spec(module.partition(".")[0]) is not None


class _DeferringFinder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in PUT_OFF else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Deferring(spec.loader, PUT_OFF[name])
        return spec


def put_off() -> None:
    """Put such imports off in this process, which is gridc's own."""
    sys.meta_path.insert(0, _DeferringFinder())


def is_own() -> bool:
    """Whether this process is gridc's own: one that puts imports off."""
    return any(isinstance(each, _DeferringFinder) for each in sys.meta_path)
