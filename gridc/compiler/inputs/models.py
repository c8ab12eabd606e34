"""Models: which weights they are, where those behind an address are asked, and what their tokens cost.

The address of a model that is asked over the network is always stated: by the spec (`base_url`), or for a
provider by the table here. litellm would take it from any of its own variables, OPENAI_API_BASE among them,
and those of a `.env` file as well.

Prices are stated in the spec, or read from litellm's table as a file, with the day of either. The table of
the day on which a study is stamped is kept in its lock, beside what the stamp covers: a price changes no
answer, but a budget and a report must not change with a package.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from gridc.compiler.frontend.locate import BUILTIN_MODELS, MODELS_FOLDER, NotFound, ReferenceFolders
from gridc.compiler.inputs.dataset_hub import endpoint
from gridc.files import open_regular
from gridc.schema.canonical import digest
from gridc.schema.models import FILES, Model, Server, engine_kind
from gridc.schema.spec import Spec

PATTERNS = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model")
"""The files of a model that can move an answer."""

_WEIGHTS = ".safetensors"
MOST_BYTES = 2**28
"""Bytes of a file that is not weights: several times the largest tokenizers."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What a model is, apart from its name in the study.

    A local model has its folder and the SHA-256 of each file. A hub model has a repository and a commit; its
    files come when it is run. `unpinned` gives the reason when neither is known, as of every provider's
    model, which is known by its name, the address of its server, what that is, and the parameters that it is
    not sent; `key_env` is where its key is, and `batch` how it is asked. `weights` are the files that a
    server is said to run. `template_args` are what the study gives its chat template: the same files asked in
    another way are another model to the calls.
    """

    source: str
    folder: Path | None = None
    files: tuple[tuple[str, str], ...] = ()
    revision: str | None = None
    unpinned: str | None = None
    template_args: tuple[tuple[str, Any], ...] = ()
    weights: "ModelIdentity | None" = None
    base_url: str | None = None
    server: Server | None = None
    omits: tuple[str, ...] = ()
    key_env: str | None = field(default=None, compare=False)
    batch: bool = field(default=False, compare=False)

    @property
    def manifest(self) -> dict[str, Any]:
        """The identity as it stands in the lock, free of local paths."""
        given = {"chat_template_args": dict(self.template_args)} if self.template_args else {}
        if self.unpinned is not None:
            reached = {"base_url": self.base_url, "server": self.server, "omits": list(self.omits) or None}
            stated: dict[str, Any] = {key: value for key, value in reached.items() if value is not None}
            if self.weights is not None:
                stated["weights"] = self.weights.manifest
            return {"source": self.source, "unpinned": self.unpinned, **stated, **given}
        if self.revision is not None:
            return {"source": self.source, "revision": self.revision, **given}
        return {"files": dict(self.files), **given}

    @property
    def files_digest(self) -> str:
        """SHA-256 over the names and digests of its files: what a spec may state."""
        return digest(dict(self.files))

    @property
    def digest(self) -> str:
        """Keys the calls of the model: the same files under another name are the same model."""
        return digest(self.manifest)


def identify(
    model: Model, places: ReferenceFolders, pinned: str | None = None, online: bool = False
) -> ModelIdentity:
    """The identity of a model. `pinned` is the commit that a lock recorded for a hub branch; without
    one the hub is asked, but only when `online` says so.

    Raises `NotFound` when a local folder is missing or is not a model that gridc loads.
    """
    given = tuple(sorted((model.chat_template_args or {}).items()))
    return replace(_weights(model, places, pinned, online), template_args=given)


def _weights(model: Model, places: ReferenceFolders, pinned: str | None, online: bool) -> ModelIdentity:
    if engine_kind(model.engine).provider:
        return ModelIdentity(
            model.source,
            unpinned="the provider decides which weights this name means",
            weights=None if model.weights is None else _files(model.weights, model, places, pinned, online),
            base_url=model.base_url,
            server=model.server,
            omits=tuple(sorted(set(model.omits or ()))),
            key_env=model.key_env,
            batch=bool(model.batch),
        )
    if not model.source.startswith(FILES):
        return ModelIdentity(model.source, unpinned=f"`{model.engine}` knows what this name means")
    return _files(model.source, model, places, pinned, online)


def _files(
    source: str, model: Model, places: ReferenceFolders, pinned: str | None, online: bool
) -> ModelIdentity:
    if source.startswith("models:") and places.models_folder is None:
        return ModelIdentity(source, unpinned=f"`{source}` is not here: {MODELS_FOLDER}")
    if not source.startswith("hf:"):
        folder = places.model(source)
        identity = ModelIdentity(source, folder, _files_of(source, model, folder))
        if model.digest not in (None, identity.files_digest):
            problem = f"the files of `{source}` have the digest {identity.files_digest}"
            raise NotFound("GC314", problem, f"put the files there whose digest is {model.digest}")
        return identity
    revision = model.revision or "main"
    if _COMMIT.fullmatch(revision):
        return ModelIdentity(source, revision=revision)
    if pinned is not None:
        return ModelIdentity(source, revision=pinned)
    commit = _ask_hub(source, revision) if online else None
    if commit is None:
        return ModelIdentity(source, unpinned=f"no commit of `{revision}` is known here")
    return ModelIdentity(source, revision=commit)


def _files_of(source: str, model: Model, folder: Path) -> tuple[tuple[str, str], ...]:
    """Name and SHA-256 of the files that a model is. What a plug-in runs need be no checkpoint: then it is
    every file of its folder."""
    checkpoint = model.weights is not None or engine_kind(model.engine).shows_tokens
    if checkpoint or any(folder.glob(f"*{_WEIGHTS}")):
        _require_model(folder, source)
        return hash_files(folder)
    found = [path for path in sorted(folder.rglob("*")) if not path.is_dir() or path.is_symlink()]
    if not found:
        raise NotFound("GC314", f"`{source}` has no file")
    _require_regular(found, source)
    return tuple((path.relative_to(folder).as_posix(), _hash_file(path)) for path in found)


def hash_files(folder: Path) -> tuple[tuple[str, str], ...]:
    """Name and SHA-256 of each file that can move an answer, by name."""
    names = sorted({path.name for pattern in PATTERNS for path in folder.glob(pattern)})
    with ThreadPoolExecutor() as pool:
        return tuple(zip(names, pool.map(_hash_file, (folder / name for name in names)), strict=True))


def ships_with_gridc(files: Mapping[str, str]) -> bool:
    """Whether a model's files but for its weights, by name and SHA-256, are those of one that ships with
    gridc."""
    return frozenset((name, sha) for name, sha in files.items() if not name.endswith(_WEIGHTS)) in _shipped()


@cache
def _shipped() -> frozenset[frozenset[tuple[str, str]]]:
    return frozenset(
        frozenset(
            (path.name, _hash_file(path))
            for pattern in PATTERNS
            for path in folder.glob(pattern)
            if path.suffix != _WEIGHTS
        )
        for folder in BUILTIN_MODELS.iterdir()
        if folder.is_dir()
    )


def _require_model(folder: Path, reference: str) -> None:
    known = [path for pattern in PATTERNS for path in sorted(folder.glob(pattern))]
    _require_regular(known, reference)
    for path in known:
        if path.suffix != _WEIGHTS and path.stat().st_size > MOST_BYTES:
            raise NotFound("GC314", f"`{path.name}` of `{reference}` has more than {MOST_BYTES:,} bytes")
    if not list(folder.glob("*.safetensors")):
        pickled = [path.name for pattern in ("*.bin", "*.pt", "*.pth") for path in folder.glob(pattern)]
        problem = f"only pickled weights ({pickled[0]})" if pickled else "no *.safetensors"
        raise NotFound("GC314", f"`{reference}` has {problem}", _written_by("AutoModelForCausalLM"))
    if not (folder / "config.json").is_file():
        raise NotFound("GC314", f"`{reference}` has no config.json")
    if not (folder / "tokenizer.json").is_file():
        raise NotFound("GC314", f"`{reference}` has no tokenizer.json", _written_by("AutoTokenizer"))
    try:
        json.loads((folder / "config.json").read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise NotFound("GC314", f"the config.json of `{reference}` is not JSON: {error}") from None


def _require_regular(paths: Iterable[Path], reference: str) -> None:
    for path in paths:
        if path.is_symlink() or not path.is_file():
            problem = f"`{path.name}` of `{reference}` is a link or not a regular file"
            raise NotFound("GC314", problem, "put the file itself into the model's folder")


def _written_by(kind: str) -> str:
    """How transformers writes what is missing, from files that gridc does not read."""
    call = "T.from_pretrained('FOLDER').save_pretrained('FOLDER')"
    return f'if you trust it, write them: python -c "from transformers import {kind} as T; {call}"'


def _hash_file(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ask_hub(source: str, revision: str) -> str | None:
    """The commit that a branch of a hub repository points at now, or None when the hub does not say."""
    try:
        from huggingface_hub import HfApi

        return HfApi(endpoint()).model_info(source.removeprefix("hf:"), revision=revision, timeout=10).sha
    except Exception:  # no client, no network, no such repository: the model stays unpinned, and says so
        return None


@dataclass(frozen=True, slots=True)
class ProviderAddress:
    """A provider's own address, as litellm takes it, and the variable that usually holds its key."""

    base: str
    variable: str


PROVIDERS: Mapping[str, ProviderAddress] = {
    "anthropic": ProviderAddress("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "deepseek": ProviderAddress("https://api.deepseek.com/beta", "DEEPSEEK_API_KEY"),
    "fireworks_ai": ProviderAddress("https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY"),
    "gemini": ProviderAddress("https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"),
    "groq": ProviderAddress("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": ProviderAddress("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openai": ProviderAddress("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": ProviderAddress("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together_ai": ProviderAddress("https://api.together.ai/v1", "TOGETHERAI_API_KEY"),
    "xai": ProviderAddress("https://api.x.ai/v1", "XAI_API_KEY"),
}
"""By the first part of a model's name in litellm: those whose requests were seen to go through gridc's own
client. For some others litellm asks by a client of its own, which nothing here could hold to an address."""


class AddressedModel(Protocol):
    """What a model says of where it is."""

    @property
    def source(self) -> str: ...
    @property
    def base_url(self) -> str | None: ...
    @property
    def key_env(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """A `base` address, the environment variable that holds the key (None: there is no key), and the
    `provider` whose own address it is (None: a server that the spec names)."""

    base: str
    variable: str | None
    provider: str | None

    @property
    def origin(self) -> str:
        """Its scheme, host and port, as consent names them."""
        return origin_of(self.base)

    @property
    def pair(self) -> str:
        """Origin and variable, as `--allow` takes them."""
        return self.origin if self.variable is None else f"{self.origin}:{self.variable}"

    @property
    def local(self) -> bool:
        """Whether it is this machine itself."""
        return is_local(self.base)

    @property
    def needs_consent(self) -> bool:
        """Whether anything leaves: this machine may be asked without a key."""
        return self.variable is not None or not self.local

    @property
    def usual(self) -> bool:
        """Whether the key is the one that this host usually gets."""
        return (self.origin, self.variable) in _USUAL


_USUAL = {
    pair
    for own in PROVIDERS.values()
    for pair in ((urlsplit(own.base).netloc, own.variable), (urlsplit(own.base).netloc, None))
}


def reach_of(model: AddressedModel) -> ServerAccess | None:
    """Where a model is reached; None for one of a provider whose address is not known here."""
    if model.base_url is not None:
        return ServerAccess(model.base_url, model.key_env, None)
    name = model.source.partition("/")[0]
    provider = PROVIDERS.get(name)
    return None if provider is None else ServerAccess(provider.base, model.key_env or provider.variable, name)


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, without a scheme that is https and a port that is the scheme's. So
    the same host over http, where everyone on the way reads along, is another one, at any port."""
    address = urlsplit(url)
    host = address.hostname or ""
    name = f"[{host}]" if ":" in host else host
    scheme = "" if address.scheme == "https" else f"{address.scheme}://"
    usual = 80 if scheme else 443
    return f"{scheme}{name}" if (address.port or usual) == usual else f"{scheme}{name}:{address.port}"


def is_local(url: str) -> bool:
    """Whether an address is this machine itself."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def proxy_of(url: str) -> str | None:
    """The proxy of the environment (HTTP_PROXY, HTTPS_PROXY) through which an address is reached, one over
    http where it states no scheme; None where NO_PROXY excepts it, and for this machine."""
    address = urlsplit(url)
    if is_local(url) or proxy_bypass(address.netloc):
        return None
    stated = getproxies().get(address.scheme)
    return stated if not stated or "://" in stated else f"http://{stated}"


def without_password(url: str) -> str:
    """An address as it can be shown."""
    address = urlsplit(url)
    return urlunsplit(address._replace(netloc=address.netloc.rpartition("@")[2]))


MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """US dollars for a million tokens read, written, and read from a cache; where it was read (`source`) and
    on which day (`as_of`)."""

    input: float
    output: float
    cached: float
    source: str
    as_of: str
    batch: Mapping[str, float] | None = None
    """The first three in a batch; None where nobody states them."""

    @property
    def in_batches(self) -> "TokenPrice":
        """What a batch costs: where no price of its own is known, as much as single calls."""
        if self.batch is None:
            return replace(self, source=f"{self.source} (none for batches: that of single calls)")
        read, written, cached = (self.batch[key] for key in ("input", "output", "cached"))
        return TokenPrice(read, written, cached, f"{self.source} for batches", self.as_of)

    def usd(self, read: float, written: float, cached: float = 0) -> float:
        """What so many tokens cost; `cached` of those that are read came from a cache."""
        cached = min(cached, read)
        return ((read - cached) * self.input + cached * self.cached + written * self.output) / MILLION

    def most(self, read: float, written: float) -> float:
        """The most that so many tokens can cost: writing to a cache is charged above reading, by up to a
        quarter (Anthropic)."""
        return self.usd(read, written) + 0.25 * read * self.input / MILLION


def paid_prices(spec: Spec, frozen: Mapping[str, Any] | None = None) -> dict[str, TokenPrice]:
    """What the calls of each model cost as the spec asks them: one by one, or in batches."""
    batched = {model.id for model in spec.asked_models if model.batch}
    prices = prices_of(spec, frozen)
    return {name: price.in_batches if name in batched else price for name, price in prices.items()}


def prices_of(spec: Spec, frozen: Mapping[str, Any] | None = None) -> dict[str, TokenPrice]:
    """The price of every provider's model that has one, by model id. `frozen` are those of a lock."""
    prices = {}
    for model in spec.asked_models:
        if not engine_kind(model.engine).provider:
            continue
        kept = (frozen or {}).get(model.id)
        price = _stated(model) or (TokenPrice(**kept) if kept is not None else _listed(model))
        if price is not None:
            prices[model.id] = price
    return prices


def price_manifest(prices: Mapping[str, TokenPrice]) -> dict[str, Any]:
    """As it stands in a lock."""
    rows = {name: asdict(price) for name, price in sorted(prices.items())}
    for row in rows.values():
        if row["batch"] is None:
            del row["batch"]
    return rows


def _stated(model: Model) -> TokenPrice | None:
    price = model.price
    if price is None:
        return None
    cached = price.input if price.cached is None else price.cached
    batch = None
    if price.batch_input is not None and price.batch_output is not None:
        batch = _rates(price.batch_input, price.batch_output, price.batch_input)
    return TokenPrice(price.input, price.output, cached, "the spec", price.as_of, batch)


def _listed(model: Model) -> TokenPrice | None:
    """What litellm's table says of a provider's model. A server of one's own is not in it."""
    if model.base_url is not None:
        return None
    table = _table()
    row = table.get(model.source) or table.get(model.source.partition("/")[2])
    if not row or "input_cost_per_token" not in row or "output_cost_per_token" not in row:
        return None
    read, written = row["input_cost_per_token"] * MILLION, row["output_cost_per_token"] * MILLION
    cached = (row.get("cache_read_input_token_cost") or row["input_cost_per_token"]) * MILLION
    today = datetime.now(UTC).date().isoformat()
    return TokenPrice(round(read, 9), round(written, 9), round(cached, 9), _litellm(), today, _batch(row))


def _batch(row: Mapping[str, Any]) -> dict[str, float] | None:
    """What litellm's table says of batches."""
    read, written = (row.get(f"{name}_cost_per_token_batches") for name in ("input", "output"))
    if read is None or written is None:
        return None
    cached = row.get("cache_read_input_token_cost_batches") or read
    return _rates(*(round(price * MILLION, 9) for price in (read, written, cached)))


def _rates(read: float, written: float, cached: float) -> dict[str, float]:
    return {"input": read, "output": written, "cached": cached}


def _litellm() -> str:
    try:
        return f"litellm {version('litellm')}"
    except PackageNotFoundError:
        return "litellm"


@cache
def _table() -> Mapping[str, Any]:
    """litellm's table, read as a file: importing litellm takes seconds and may ask the network."""
    module = find_spec("litellm")
    if module is None or module.origin is None:
        return {}
    table = Path(module.origin).with_name("model_prices_and_context_window_backup.json")
    prices: Mapping[str, Any] = json.loads(table.read_text("utf-8")) if table.is_file() else {}
    return prices
