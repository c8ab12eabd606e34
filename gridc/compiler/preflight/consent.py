"""What would be sent from this machine, to whom and under which name; and the user's consent to it.

A spec may be a stranger's. It names a server and the environment variable whose value goes there as a key, so
it could send any secret anywhere; and it may name a file of its own with scoring functions. `leaving` says
what a study would send, and looks at nothing but its spec. Consent is the person's: to one server (by scheme,
host and port) and one variable, or to the digest of one file, given on the terminal and then kept in their
own configuration folder, or for one command with `--allow`, or in GRIDC_ALLOW. It is never read from a study.
"""

import json
import os
import pwd
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.tasks import TaskCode
from gridc.compiler.grid import configurations as grid
from gridc.compiler.inputs.addresses import (
    PROVIDERS,
    ServerAccess,
    origin_of,
    proxy_of,
    reach_of,
    without_password,
)
from gridc.compiler.inputs.dataset_hub import endpoint
from gridc.compiler.instrument.points import ScorerFile
from gridc.diagnostics.errors import Diagnostic, KeyPath, SpecError, UnavailableError, UsageError, visible
from gridc.files import config_folder, read_regular, write_atomic
from gridc.schema.base import PLUGIN
from gridc.schema.models import Model, engine_kind
from gridc.schema.spec import Spec

FORMAT = "gridc-consent/1"
MOST_BYTES = 2**20
"""Bytes of a file of consents: thousands of them."""

VARIABLE = "GRIDC_ALLOW"
"""Consents for programs: pairs as `--allow` takes them, with commas between."""

_PAIR = re.compile(
    r"(?P<file>sha256:[0-9a-f]{64})"
    r"|(?P<scheme>(?i:https?://))?(?P<host>\[[0-9a-f:.]+\]|[^\s:\[\],/@]+)(?::(?P<port>\d{1,5}))?"
    r"(?::(?P<name>[A-Za-z_][A-Za-z0-9_]*))?",
)


@dataclass(frozen=True, slots=True)
class OutgoingData:
    """What goes to a host: every prompt of the models `who` (ids), and with them the value of the reach's
    variable as a key, if it has one. `proxy` is what it goes through."""

    reach: ServerAccess
    who: tuple[str, ...]
    proxy: str | None = None

    @property
    def pair(self) -> str:
        """Origin and variable, as `--allow` takes them."""
        return self.reach.pair

    @property
    def needs_consent(self) -> bool:
        """Whether it leaves this machine with something that is the person's."""
        return self.reach.needs_consent

    def __str__(self) -> str:
        origin, variable = self.reach.origin, self.reach.variable
        key = "no key" if variable is None else f"the key in {variable}"
        unusual = "" if self.reach.usual or variable is None else f", which is NOT a usual key of {origin}"
        through = "" if self.proxy is None else f", through the proxy {without_password(self.proxy)}"
        here = " (this machine)" if self.reach.local else ""
        return visible(
            f"{origin}{here} gets the prompts of {', '.join(self.who)} and {key}{unusual}{through}"
        )


Consentable = OutgoingData | ScorerFile | TaskCode
"""What needs the person's consent: something that leaves, or somebody's program that runs here."""

Ask = Callable[[Consentable], bool]
"""Asks the person whether this may be."""

Consents = Mapping[str, str]
"""How consent was given, by pair."""

NONE_GIVEN: Consents = {}


def outgoing_data(spec: Spec) -> tuple[OutgoingData, ...]:
    """What a run of a study would send, by host and variable; of a model whose provider is not known here
    nothing can be said, and nothing is sent (`require_known`)."""
    by_pair: dict[str, OutgoingData] = {}
    for _, model in _asked(spec):
        reach = reach_of(model)
        if reach is None:
            continue
        others = by_pair[reach.pair].who if reach.pair in by_pair else ()
        by_pair[reach.pair] = OutgoingData(reach, (*others, model.id), proxy_of(reach.base))
    return tuple(by_pair.values())


def consent_sentences(spec: Spec, scorers: Iterable[ScorerFile] = ()) -> tuple[str, ...]:
    """What a run would send, a sentence each, and for which models it could not: also the names under which
    files are fetched from the hub, and the files beside the spec whose functions run here."""
    hub = [model.id for _, model in grid.asked_models(spec) if model.source.startswith("hf:")]
    hub += [benchmark.id for benchmark in spec.benchmark if benchmark.source.startswith("hf:")]
    lines = [f"runs: {visible(str(file))}" for file in scorers]
    lines += [f"leaves: {item}" for item in outgoing_data(spec)]
    lines += [
        visible(f"not known: where `{model.source}` is reached, so that {model.id} cannot be asked (GC354)")
        for _, model in _asked(spec)
        if reach_of(model) is None
    ]
    plugins: dict[str, list[str]] = {}
    for _, model in grid.asked_models(spec):
        if model.engine.startswith(PLUGIN):
            plugins.setdefault(model.engine, []).append(f"`{model.id}`")
    lines += [
        f"leaves: what `{name}` asks for {' and '.join(models)} goes where that package sends it"
        for name, models in plugins.items()
    ]
    return (*lines, *asked_of_hub(hub))


def asked_of_hub(names: Sequence[str]) -> tuple[str, ...]:
    """That the hub is asked for the files of these models and benchmarks; nothing where there are none."""
    if not names:
        return ()
    where = endpoint() or "https://huggingface.co"
    key = " with your token of it, where you have one" if _hub_token() else ""
    return (visible(f"leaves: {where} is asked for the files of {', '.join(names)}{key}; no prompt"),)


def _hub_token() -> bool:
    """Whether the hub's client has a token, which it looks for in several variables and files."""
    try:
        from huggingface_hub import get_token
    except ImportError:
        return False
    return get_token() is not None


def _asked(spec: Spec) -> Iterable[tuple[KeyPath, Model]]:
    """Every model behind an address that a run asks, with its place."""
    judged = grid.has_judged(spec)
    for path, model in grid.asked_models(spec):
        if engine_kind(model.engine).provider and (judged or path[0] == "model"):
            yield path, model


def require_known(spec: Spec, source: Source) -> None:
    """Raise `SpecError` (GC354) for each model whose provider's own address is not known here."""
    unknown = [
        source.diagnose(
            "GC354",
            (*path, "source"),
            f"gridc does not know where `{model.source}` is reached",
            "state `base_url` and `key_env`, for a server that speaks OpenAI's protocol; known by name: "
            + ", ".join(f"{name}/..." for name in PROVIDERS),
        )
        for path, model in _asked(spec)
        if reach_of(model) is None
    ]
    if unknown:
        raise SpecError(unknown)


def missing_keys(spec: Spec) -> tuple[str, ...]:
    """Which keys a run would miss, a sentence each. Nothing but a run needs them."""
    return tuple(
        f"missing for a run: {variable}, the key of `{model.id}`, is not set (GC631)"
        for _, model, variable in unset_keys(spec)
    )


def unset_keys(spec: Spec) -> Iterable[tuple[KeyPath, Model, str]]:
    """Every model whose key is in a variable that is not set, with its place and the variable."""
    for path, model in _asked(spec):
        reach = reach_of(model)
        if (
            reach is not None
            and reach.variable is not None
            and not os.environ.get(reach.variable, "").strip()
        ):
            yield path, model, reach.variable


def require_keys(spec: Spec, source: Source) -> None:
    """Raise `UnavailableError` (GC631) for each key that is not in the environment."""
    missing = []
    for path, model, variable in unset_keys(spec):
        message = f"`{model.id}` needs a key, and {variable} is not set"
        at = (*path, "key_env" if model.key_env is not None else "source")
        missing.append(source.diagnose("GC631", at, message, f"set {variable} in the environment"))
    if missing:
        raise UnavailableError(missing)


def consents_given(wanted: Iterable[Consentable], study: Path, allow: Iterable[str] = ()) -> dict[str, str]:
    """How consent was given to each pair that has it. `study` is the study's folder, in which no consent is
    looked for. Raises `UsageError` for what is no pair (GC000) or a file that cannot be read (GC644)."""
    stated = dict.fromkeys(map(_pair, allow), "--allow")
    listed = [item.strip() for item in os.environ.get(VARIABLE, "").split(",") if item.strip()]
    stated = dict.fromkeys(map(_pair, listed), VARIABLE) | stated
    wanted = [item for item in wanted if item.needs_consent]
    kept = _stored_consents(study) if any(item.pair not in stated for item in wanted) else {}
    known = {**kept, **stated}
    return {item.pair: known[item.pair] for item in wanted if item.pair in known}


def obtain(wanted: Iterable[Consentable], study: Path, allow: Iterable[str], ask: Ask) -> dict[str, str]:
    """The same, for everything that leaves: what has no consent yet is asked for, and kept.

    Raises `UsageError` (GC643) with what was not allowed.
    """
    wanted = tuple(wanted)
    consents = consents_given(wanted, study, allow)
    refused = []
    for item in wanted:
        if not item.needs_consent or item.pair in consents:
            continue
        if ask(item):
            consents[item.pair] = _keep(item, study)
        else:
            refused.append(item)
    if refused:
        options = " ".join(f"--allow {item.pair}" for item in refused)
        help = f"if you mean it: {options} (or {VARIABLE}={','.join(item.pair for item in refused)})"
        raise UsageError(
            [Diagnostic("GC643", f"nobody has consented to {item}", help=help) for item in refused]
        )
    return consents


def _pair(text: str) -> str:
    """A pair in the one spelling in which pairs are compared. A host without a scheme is one over https."""
    match = _PAIR.fullmatch(text)
    if match is not None and match["file"]:
        return text
    try:
        if match is None:
            raise ValueError
        port = "" if match["port"] is None else f":{match['port']}"
        origin = origin_of(f"{match['scheme'] or 'https://'}{match['host']}{port}")
    except ValueError:  # of `origin_of` too: there is no such port or address of IPv6
        message = f"`{text}` is not a host with a variable"
        help = (
            "HOST:VARIABLE, such as api.openai.com:OPENAI_API_KEY, HOST alone where no key goes, "
            "http://HOST:PORT:VARIABLE for a server without https, or sha256:DIGEST of a file with functions "
            "that score"
        )
        raise UsageError([Diagnostic("GC000", message, help=help)]) from None
    return origin if match["name"] is None else f"{origin}:{match['name']}"


def consent_file() -> Path:
    """Where a person's consents are kept."""
    return config_folder() / "consent.json"


def _stored_consents(study: Path) -> dict[str, str]:
    """What the file of consents says, if it is the person's own: no part of the study, and nobody else may
    write it."""
    path = consent_file()
    if _inside(path, study):
        return {}
    try:
        state = path.lstat()
    except OSError:
        return {}
    if not _is_own(state):
        raise _unusable(path, "it is not a file that only you can write")
    try:
        document = json.loads(read_regular(path, MOST_BYTES))
        if document["format"] != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        return {_pair(entry["pair"]): f"given on {entry['at'][:10]}" for entry in document["allowed"]}
    except (OSError, ValueError, LookupError, TypeError, UsageError, RecursionError) as error:
        raise _unusable(path, f"it cannot be read ({type(error).__name__})") from None


def _keep(what: Consentable, study: Path) -> str:
    """Write a consent down; how it was given. One that could not be read back is not kept."""
    path, now = consent_file(), datetime.now(UTC).isoformat(timespec="seconds")
    if _inside(path, study):
        return "given on the terminal"
    allowed: list[dict[str, str]] = []
    if path.exists():
        _stored_consents(study)
        allowed = json.loads(read_regular(path, MOST_BYTES))["allowed"]
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    document = {"format": FORMAT, "allowed": [*allowed, {"pair": what.pair, "at": now}]}
    write_atomic(path, json.dumps(document, indent=2) + "\n", mode=0o600)
    return f"given on {now[:10]}"


def _is_own(state: os.stat_result) -> bool:
    return stat.S_ISREG(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o022


def _inside(path: Path, study: Path) -> bool:
    """Whether a file came, or could have come, with a study: from its folder or from the repository around
    it. A repository that holds the person's home is their own."""
    study = study.resolve()
    repository = next((folder for folder in (study, *study.parents) if (folder / ".git").exists()), study)
    home = _home()
    brought = study if home is not None and home.is_relative_to(repository) else repository
    return path.resolve().is_relative_to(brought)


def _home() -> Path | None:
    """The person's home, whatever HOME says; None for a person without an account, as in a container."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    except KeyError:
        return None


def _unusable(path: Path, problem: str) -> UsageError:
    help = "correct it or delete it (you are then asked again), or use --allow"
    return UsageError([Diagnostic("GC644", problem, str(path), help=help)])
