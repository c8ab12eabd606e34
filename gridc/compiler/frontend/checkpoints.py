"""Which folders are models that gridc loads: what shows in their files without loading anything.

A causal language model is loaded from config.json, tokenizer.json and weights in safetensors. Other files may
lie beside these, but for adapter_config.json: where it is, transformers loads another model than the one in
the folder.
"""

import json
from collections.abc import Collection, Iterable
from fnmatch import filter as matching
from pathlib import Path

from gridc.compiler.frontend.lookup import NotFound, ReferenceFolders
from gridc.schema.models import FILES, Model, engine_kind

PATTERNS = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model")
"""The files of a model that can move an answer."""

WEIGHTS = ".safetensors"
ADAPTER = "adapter_config.json"
IS_ADAPTER = f"is an adapter ({ADAPTER}), whose base model lies elsewhere"

MOST_BYTES = 2**28
"""Bytes of a file that is not weights: several times the largest tokenizers."""

_PICKLED = ("*.bin", "*.pt", "*.pth")
_OTHER_TOKENIZERS = ("*.model", "vocab.*", "*.tiktoken")
"""Files from which transformers makes a tokenizer.json."""


def known_files(folder: Path) -> list[Path]:
    """The files of a folder that can move an answer, by name."""
    return sorted({path for pattern in PATTERNS for path in folder.glob(pattern)})


def look_into(model: Model, places: ReferenceFolders) -> None:
    """Look up the folder of a model, or of the one that its server is said to run, and require that it is one
    that gridc loads. A folder of the hub is looked into when its commit is asked for.

    Raises `NotFound`: where there is no such folder, or GC314 where it is not such a model.
    """
    source = checkpoint_folder(model)
    if source is not None and not source.startswith("hf:"):
        folder = places.model(source)
        if not source.startswith("builtin:") and is_checkpoint(model, folder):
            _require_model(folder, source)


def checkpoint_folder(model: Model) -> str | None:
    """Where the files of a model are, or those that its server is said to run. None where nobody says."""
    source = model.weights if engine_kind(model.engine).provider else model.source
    return source if source is not None and source.startswith(FILES) else None


def is_checkpoint(model: Model, folder: Path) -> bool:
    """Whether a model is the files of a checkpoint: what a plug-in runs can be something else."""
    stated = model.weights is not None or engine_kind(model.engine).shows_tokens
    return stated or any(folder.glob(f"*{WEIGHTS}"))


def require_weights(names: Collection[str], reference: str) -> None:
    """Raise `NotFound` (GC314) where a folder with files of these names holds no weights that gridc loads."""
    if ADAPTER in names:
        raise NotFound("GC314", f"`{reference}` {IS_ADAPTER}", _merging(names))
    if matching(names, f"*{WEIGHTS}"):
        return
    if gguf := sorted(matching(names, "*.gguf")):
        help = (
            'let llama.cpp\'s server run it, and ask that: engine = "api" with base_url and '
            'server = "llama.cpp" (`gridc docs api`); or name the model in safetensors that it was made from'
        )
        raise NotFound("GC314", f"`{reference}` has only GGUF weights ({gguf[0]})", help)
    pickled = sorted(name for pattern in _PICKLED for name in matching(names, pattern))
    if not pickled:
        help = "name a folder with the model's config.json, tokenizer.json and *.safetensors"
        raise NotFound("GC314", f"`{reference}` has no *.safetensors", help)
    # These names alone are what transformers loads, and with a configuration.
    if matching(names, "pytorch_model*.bin") and "config.json" in names:
        help = _written_by("AutoModelForCausalLM")
    else:
        help = "transformers does not convert these: name a copy of the model with *.safetensors"
    raise NotFound("GC314", f"`{reference}` has only pickled weights ({pickled[0]})", help)


def _merging(names: Collection[str]) -> str:
    """How an adapter and its base become one folder."""
    tokenizer = "FOLDER" if "tokenizer.json" in names else "BASE"
    base = "" if tokenizer == "FOLDER" else f", where BASE is the model that {ADAPTER} names"
    call = (
        'python -c "from peft import AutoPeftModelForCausalLM as P; '
        "from transformers import AutoTokenizer as T; "
        "P.from_pretrained('FOLDER').merge_and_unload().save_pretrained('MERGED'); "
        f"T.from_pretrained('{tokenizer}').save_pretrained('MERGED')\""
    )
    whole = matching(names, "model*.safetensors") and "config.json" in names
    merged = f"; if the folder holds the merged model already, take {ADAPTER} out of it" if whole else ""
    return f"merge them into one folder (`pip install peft`){base}: {call}{merged}"


def _require_model(folder: Path, reference: str) -> None:
    """Raise `NotFound` (GC314) unless a folder is a model that gridc loads."""
    known = known_files(folder)
    require_regular(known, reference)
    for path in known:
        if path.suffix != WEIGHTS and path.stat().st_size > MOST_BYTES:
            raise NotFound("GC314", f"`{path.name}` of `{reference}` has more than {MOST_BYTES:,} bytes")
    require_weights([path.name for path in folder.iterdir()], reference)
    if not (folder / "config.json").is_file():
        raise NotFound("GC314", f"`{reference}` has no config.json")
    if not (folder / "tokenizer.json").is_file():
        other = any(any(folder.glob(pattern)) for pattern in _OTHER_TOKENIZERS)
        help = _written_by("AutoTokenizer") if other else "copy it from the model that this one was made from"
        raise NotFound("GC314", f"`{reference}` has no tokenizer.json", help)
    try:
        json.loads((folder / "config.json").read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise NotFound("GC314", f"the config.json of `{reference}` is not JSON: {error}") from None


def require_regular(paths: Iterable[Path], reference: str) -> None:
    """Raise `NotFound` (GC314) where one of these files of a folder is a link, or no file."""
    for path in paths:
        if path.is_symlink() or not path.is_file():
            problem = f"`{path.name}` of `{reference}` is a link or not a regular file"
            raise NotFound("GC314", problem, "put the file itself into the model's folder")


def _written_by(kind: str) -> str:
    """How transformers writes what is missing, from files that gridc does not read."""
    call = "T.from_pretrained('FOLDER').save_pretrained('FOLDER')"
    return f'if you trust it, write them: python -c "from transformers import {kind} as T; {call}"'
