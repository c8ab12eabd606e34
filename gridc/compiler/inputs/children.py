"""What runs in child processes, and imports little: scoring functions, task loaders, a counter of tokens.

The child of a scoring function gets the text of the function's file, an item and a response as JSON, and
returns what the function returns. It reaches nothing of gridc's own except by importing it.
"""

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from types import ModuleType
from typing import Any


class Host:
    """Functions of one file or of one package, called by name."""

    def __init__(self) -> None:
        self._module: ModuleType | None = None
        self._functions: dict[str, Callable[..., Any]] = {}

    def load_file(self, name: str, text: str, working: str) -> None:
        """Take the functions of a file by its text, so that what runs is what was hashed. They import nothing
        from the folder in which somebody is working, even where that is installed."""
        sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder) != working]
        module = ModuleType("scorers")
        module.__file__ = name
        self._module = sys.modules["scorers"] = module
        _explained(lambda: exec(compile(text, name, "exec"), module.__dict__), name)

    def load_plugin(self, name: str, module: str, function: str) -> None:
        """Take a function of an installed package, which may be installed from the folder of the study."""
        import importlib

        def load() -> None:
            self._module = importlib.import_module(module)
            target: Any = self._module
            for part in function.split("."):
                target = getattr(target, part)
            self._functions[name] = target

        _explained(load, module)

    def score(self, name: str, item: Mapping[str, Any], response: str, replies: Sequence[str]) -> Any:
        """What a function gives for a response; the item has the replies that led to it."""
        given = {**item, "replies": list(replies)}
        return _json_value(_explained(lambda: self._function(name)(given, response), self._file))

    def responders(self, name: str, item: Mapping[str, Any]) -> Any:
        """What the function `NAME_responders` beside it says that a perfect and a worst answer are; None
        where there is no such function."""
        function = getattr(self._module, f"{self._function(name).__name__}_responders", None)
        if function is None:
            return None
        given = _explained(lambda: function(item), self._file)
        if not isinstance(given, Mapping) or not set(given) <= {"perfect", "worst"}:
            raise ValueError(f"gives {given!r} of `{function.__name__}`, no table of `perfect` and `worst`")
        return {key: None if said is None else _replies(said) for key, said in given.items()}

    @property
    def _file(self) -> str:
        return str(getattr(self._module, "__file__", ""))

    def _function(self, name: str) -> Callable[..., Any]:
        function = self._functions.get(name) or getattr(self._module, name, None)
        if not callable(function):
            raise ValueError(f"is not a function, but {type(function).__name__}")
        return function


def _replies(said: Any) -> list[str]:
    """A response, or the replies that lead to it."""
    return [str(text) for text in said] if isinstance(said, list | tuple) else [str(said)]


def _explained(call: Callable[[], Any], file: str) -> Any:
    """What a call gives. Raises `ValueError` with its error in words, and the last line of the file."""
    try:
        return call()
    except MemoryError:
        raise
    except BaseException as error:  # a program of somebody else: whatever it raises, also `exit()`
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
        ]
        where = f", line {lines[-1]}" if lines else ""
        text = f"{type(error).__name__}: {error}".rstrip(": ")
        raise ValueError(f"fails ({text}{where})") from None


def _json_value(given: Any) -> Any:
    """What a function gives, as JSON has it: a label, a number, numbers by name, or None."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return {str(name): _number(value, str(name)) for name, value in given.items()}
    return _number(given)


def _number(value: Any, name: str = "") -> float:
    if isinstance(value, Real):  # numbers of numpy are, too
        return float(value)
    if name:
        raise ValueError(
            f"gives {value!r} as `{name}`, which is not a number (unreadable: None for all of it)"
        )
    raise ValueError(f"gives {value!r}, which is not a label, number, table of numbers or None")


class TaskHost:
    """A task loader of a package, by the module and the name of its class. It is imported here, so that no
    code of it runs in the process that begins children."""

    def __init__(self) -> None:
        self._loader: Any = None

    def load(self, module: str, name: str) -> None:
        """Take the class that renders tasks."""
        import importlib

        self._loader = getattr(importlib.import_module(module), name)()

    def call(self, method: str, *arguments: Any) -> Any:
        """What a method of the loader gives."""
        return getattr(self._loader, method)(*arguments)


class TokenCounter:
    """Counts tokens."""

    def tokens(self, path: str, texts: list[str]) -> int:
        """How many tokens the tokenizer in a file makes of some texts."""
        from tokenizers import Tokenizer

        encodings = Tokenizer.from_file(path).encode_batch(texts, add_special_tokens=False)
        return sum(len(encoding.ids) for encoding in encodings)
