"""Studies and servers that want a key, a text or a day of whoever runs them."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.compiler.inputs import addresses
from gridc.compiler.inputs.addresses import origin_of
from gridc.compiler.preflight import consent, providers
from gridc.diagnostics.errors import GridcError
from gridc.runtime.engines.api import client, session, wire
from gridc.runtime.engines.api.client import HostTransport
from gridc.runtime.engines.api.session import Session
from tests.adversary.attack import attack, instead, nothing
from tests.adversary.studies import write_study
from tests.replaced import replaced
from tests.runtime.api.conftest import at_home, engine_at, make_calls
from tools.servers.faults import FaultServer, answer_to
from tools.servers.http import Asked, Handler, Reply, Server

AUTHOR = "the author of a study"
OWNER = "whoever has a server"
SECRET = "canary-that-must-not-leave"
VARIABLE = "AWS_SECRET_ACCESS_KEY"

UNASKED = instead((consent, "obtain", lambda wanted, *_: {what.pair: "unasked" for what in wanted}))
"""Without consent: everything may leave."""


@dataclass
class Listener:
    """A server that writes down what it gets, and answers as a model would."""

    got: list[Asked] = field(default_factory=list)

    async def __call__(self, asked: Asked) -> Reply:
        self.got.append(asked)
        return Reply.json(answer_to(asked.document))

    @property
    def secrets(self) -> bool:
        """Whether a secret arrived."""
        return any(SECRET in text for asked in self.got for text in asked.headers.values())


@contextmanager
def listening(patch: MonkeyPatch, folder: Path) -> Iterator[tuple[Listener, str]]:
    """A listener, and a person with a secret and an empty configuration folder who allowed nothing."""
    patch.setenv(VARIABLE, SECRET)
    patch.setenv("OPENAI_API_KEY", SECRET)
    patch.setenv("XDG_CONFIG_HOME", str(folder / "person"))
    patch.delenv(consent.VARIABLE, raising=False)
    listener = Listener()
    with Server(listener) as server:
        yield listener, server.url


def asking(folder: Path, url: str, key: str | None, **keys: Any) -> Path:
    """The sound study with its model behind an address; the path of its spec."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = write_study(folder)
    stated = {"source": "m-2026-01-01", "base_url": url, **({"key_env": key} if key else {}), **keys}
    model = "\n".join(f"{name} = {json.dumps(value)}" for name, value in stated.items())
    text = replaced(
        spec.read_text("utf-8"),
        ('engine = "hf"\nsource = "builtin:pocket-llama"', f'engine = "api"\n{model}'),
        ("sample = { n = 48, seed = 1 }", "sample = { n = 2, seed = 1 }"),
    )
    spec.write_text(f"{text}\n[engine]\nattempts = 2\n", "utf-8")
    return spec


def run(spec: Path, *allow: str) -> set[str]:
    """The codes with which running a study ends."""
    try:
        gridc.open(spec).run(allow=allow)
    except GridcError as error:
        return {diagnostic.code for diagnostic in error.diagnostics}
    return set()


def remember(folder: Path, *pairs: str) -> None:
    """Write a file of consents, as gridc does."""
    path = folder / "gridc" / "consent.json"
    path.parent.mkdir(parents=True)
    allowed = [{"pair": pair, "at": "2026-01-01T00:00:00+00:00"} for pair in pairs]
    path.write_text(json.dumps({"format": consent.FORMAT, "allowed": allowed}))
    path.chmod(0o600)


@attack(AUTHOR, "`key_env` names any variable, and `base_url` their own server", "GC643", UNASKED)
def any_variable_to_any_server(folder: Path, patch: MonkeyPatch) -> set[str]:
    with listening(patch, folder) as (listener, url):
        codes = run(asking(folder / "study", url, VARIABLE))
        assert listener.secrets is ("GC643" not in codes)
        return codes


@attack(AUTHOR, "the key of a provider goes to another host, which was not allowed", "GC643", UNASKED)
def the_usual_key_to_another_host(folder: Path, patch: MonkeyPatch) -> set[str]:
    with listening(patch, folder) as (listener, url):
        remember(folder / "person", "api.openai.com:OPENAI_API_KEY", f"http://127.0.0.1:1:{VARIABLE}")
        codes = run(asking(folder / "study", url, "OPENAI_API_KEY"), f"{origin_of(url)}:{VARIABLE}")
        assert listener.secrets is ("GC643" not in codes)
        return codes


def _without_scheme(url: str) -> str:
    return urlsplit(url).netloc


@attack(
    AUTHOR,
    "a key that may go to a server over https goes to the same host and port in the clear",
    "GC643",
    instead((addresses, "origin_of", _without_scheme), (consent, "origin_of", _without_scheme)),
)
def in_the_clear(folder: Path, patch: MonkeyPatch) -> set[str]:
    with listening(patch, folder) as (listener, url):
        remember(folder / "person", f"https://{urlsplit(url).netloc}:{VARIABLE}")
        codes = run(asking(folder / "study", url, VARIABLE))
        assert listener.secrets is ("GC643" not in codes)
        return codes


@attack(AUTHOR, "private items go to a server that wants no key", "GC643", UNASKED)
def items_to_a_stranger(folder: Path, patch: MonkeyPatch) -> set[str]:
    with listening(patch, folder):
        patch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nothing is asked of the network
        patch.setenv("http_proxy", "http://127.0.0.1:9")
        return run(asking(folder / "study", "http://stranger.example/v1", None))


@attack(
    AUTHOR,
    "the study brings the file of consents, and XDG_CONFIG_HOME leads to it",
    "GC643",
    instead((consent, "_inside", lambda path, study: False)),
)
def consent_in_the_study(folder: Path, patch: MonkeyPatch) -> set[str]:
    with listening(patch, folder) as (_listener, url):
        spec = asking(folder / "study", url, VARIABLE)
        remember(spec.parent / ".config", f"{origin_of(url)}:{VARIABLE}")
        patch.setenv("XDG_CONFIG_HOME", str(spec.parent / ".config"))
        return run(spec)


@attack(
    "the author of a repository that is cloned",
    "the study lies in a folder of it, and the file of consents beside that folder",
    "GC643",
    instead((consent, "_inside", lambda path, study: path.resolve().is_relative_to(study.resolve()))),
)
def consent_in_the_repository(folder: Path, patch: MonkeyPatch) -> set[str]:
    with listening(patch, folder) as (_listener, url):
        spec = asking(folder / "clone" / "study", url, VARIABLE)
        (folder / "clone" / ".git").mkdir()
        remember(folder / "clone" / ".config", f"{origin_of(url)}:{VARIABLE}")
        patch.setenv("XDG_CONFIG_HOME", str(folder / "clone" / ".config"))
        return run(spec)


@attack(
    "somebody else on the machine",
    "the file of consents can be written by everybody",
    "GC644",
    instead((consent, "_is_own", lambda state: True)),
)
def consent_of_somebody_else(folder: Path, patch: MonkeyPatch) -> set[str]:
    with listening(patch, folder) as (_listener, url):
        remember(folder / "person", f"{origin_of(url)}:{VARIABLE}")
        (folder / "person" / "gridc" / "consent.json").chmod(0o666)
        return run(asking(folder / "study", url, VARIABLE))


READS_NO_FILE = "litellm is told to read no `.env` (`providers.FENCES`)"


@attack(
    "the author of a repository that is cloned",
    "a `.env` above `.venv` redirects a provider",
    READS_NO_FILE,
    instead((providers, "FENCES", {"LITELLM_LOCAL_MODEL_COST_MAP": "True"})),
)
def a_clone_with_a_dotenv(folder: Path, patch: MonkeyPatch) -> set[str]:
    packages = with_packages(folder)
    (folder / ".env").write_text("OPENAI_API_BASE=http://127.0.0.1:9/v1\nHTTPS_PROXY=http://127.0.0.1:9\n")
    for name in ("OPENAI_API_BASE", "HTTPS_PROXY", "LITELLM_MODE"):
        patch.delenv(name, raising=False)
    code = (
        "import json, os, sys\nfrom gridc.compiler.preflight import providers\n"
        "providers.FENCES = json.loads(sys.argv[1])\nassert providers.quiet_litellm().__file__.startswith("
        f"{str(packages)!r})\nprint(sorted({{'OPENAI_API_BASE', 'HTTPS_PROXY'}} & os.environ.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(dict(providers.FENCES))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), *filter(None, sys.path)])},
        capture_output=True, text=True, timeout=300, check=True, cwd=folder,
    )  # fmt: skip
    return {READS_NO_FILE} if done.stdout.strip() == "[]" else set()


def with_packages(folder: Path) -> Path:
    """The folder of packages of a `.venv` in a clone, with litellm in it."""
    packages = folder / ".venv" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    module = find_spec("litellm")
    assert module is not None
    assert module.origin is not None
    (packages / "litellm").symlink_to(Path(module.origin).parent)
    return packages


STATED = "gridc states each provider's address (`addresses.PROVIDERS`)"


def redirected(patch: MonkeyPatch, address: str) -> None:
    """Set every variable from which litellm and its libraries take the address of OpenAI."""
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
        patch.setenv(name, address)


def asked_of_openai(folder: Path, patch: MonkeyPatch) -> tuple[Listener, Listener, set[str]]:
    """What OpenAI's own server and one to which variables redirect get of two calls, and how they end."""
    own, thief, codes = Listener(), Listener(), set()
    patch.setenv("OPENAI_API_KEY", SECRET)
    patch.setenv("OPENAI_CUSTOM_HEADERS", f"x-other: {SECRET}-too")
    with Server(own) as first, Server(thief) as second:
        at_home(patch, "openai", first.url)
        redirected(patch, second.url)
        try:
            with engine_at(None, source="openai/gpt-4o-2024-08-06", attempts=1) as asked:
                asked.ask(make_calls(2))
        except GridcError as error:
            codes = {diagnostic.code for diagnostic in error.diagnostics}
    return own, thief, codes


ALL_LEAVES = instead((HostTransport, "_hold_back", lambda outlet, request: request))


def _unstated(patch: MonkeyPatch) -> None:
    """litellm looks for the address itself."""
    litellm = providers.quiet_litellm()
    complete = litellm.acompletion

    async def without_address(**asked: Any) -> Any:
        return await complete(**{name: value for name, value in asked.items() if name != "api_base"})

    patch.setattr(litellm, "acompletion", without_address)


def _unstated_and_open(patch: MonkeyPatch) -> None:
    _unstated(patch)
    ALL_LEAVES(patch)


@attack("whoever sets a variable", "OPENAI_API_BASE redirects a provider's key", STATED, _unstated_and_open)
def a_variable_redirects(folder: Path, patch: MonkeyPatch) -> set[str]:
    own, thief, codes = asked_of_openai(folder, patch)
    assert not codes, "whoever is asked, the answer is read"
    assert bool(thief.got) is not bool(own.got)
    return {STATED} if own.secrets and not thief.got else set()


@attack(
    "whoever sets a variable",
    "a library makes the request for another address than it was given",
    "GC645",
    ALL_LEAVES,
)
def a_library_goes_elsewhere(folder: Path, patch: MonkeyPatch) -> set[str]:
    _unstated(patch)
    _, thief, codes = asked_of_openai(folder, patch)
    assert bool(thief.got) is ("GC645" not in codes)
    return codes


NAMED_HEADERS = "only named headers leave (`client.LET_OUT`)"


@attack(
    "whoever sets a variable",
    "OPENAI_CUSTOM_HEADERS adds another secret to each request",
    NAMED_HEADERS,
    ALL_LEAVES,
)
def further_headers(folder: Path, patch: MonkeyPatch) -> set[str]:
    own, _, _ = asked_of_openai(folder, patch)
    assert own.got
    return set() if any("x-other" in asked.headers for asked in own.got) else {NAMED_HEADERS}


@attack(
    "nobody: a key is forgotten",
    "the instrument is tried for a minute before a key is missed",
    "GC631",
    instead((consent, "unset_keys", nothing)),
)
def a_key_is_missing(folder: Path, patch: MonkeyPatch) -> set[str]:
    patch.delenv(VARIABLE, raising=False)
    return run(asking(folder, "http://127.0.0.1:9/v1", VARIABLE))


UNWRITTEN = "no lock is written before every key is there (`study.running.consenting`)"


@attack(
    "nobody: a key is forgotten",
    "a study is stamped, and then a key is missed",
    UNWRITTEN,
    instead((consent, "unset_keys", nothing)),
)
def a_key_is_missing_after_the_stamp(folder: Path, patch: MonkeyPatch) -> set[str]:
    with listening(patch, folder) as (_, url):
        patch.delenv(VARIABLE)
        spec = asking(folder / "study", url, VARIABLE)
        assert run(spec, f"{origin_of(url)}:{VARIABLE}") == {"GC631"}
        return set() if (spec.parent / "gridcard.lock").exists() else {UNWRITTEN}


OWN_DECODER = "no response chooses how it is decoded (`client._handed_on`)"


@attack(
    "a provider of a model",
    "`charset=punycode` makes a library decode an error for an hour",
    OWN_DECODER,
    instead((client, "_handed_on", lambda headers: headers)),
)
def an_error_in_punycode(folder: Path, patch: MonkeyPatch) -> set[str]:
    """A short one: only how it is read shows the decoder."""

    async def handle(asked: Asked) -> Reply:
        return Reply(400, b"words-abc", {"content-type": "text/plain; charset=punycode"})

    patch.setenv("OPENAI_API_KEY", SECRET)
    with Server(handle) as server:
        at_home(patch, "openai", server.url)
        try:
            with engine_at(None, source="openai/gpt-4o-2024-08-06", attempts=1) as asked:
                asked.ask(make_calls(1))
        except GridcError as error:
            return {OWN_DECODER} if "words-abc" in str(error) else set()
    return set()


def _answering(change: Mapping[str, Any]) -> Handler:
    async def handle(asked: Asked) -> Reply:
        answer = answer_to(asked.document)
        answer["choices"][0]["message"] |= change
        return Reply.json(answer)

    return handle


@attack(
    OWNER,
    "seven megabytes answer a request for eight tokens",
    "GC647",
    instead((wire, "MOST_CHARACTERS", 10**9)),
)
def a_book_for_an_answer(folder: Path, patch: MonkeyPatch) -> set[str]:
    with Server(_answering({"content": "A " * 3_500_000})) as server:
        try:
            with engine_at(server.url, attempts=2) as asked:
                asked.ask(make_calls(1))
        except GridcError as error:
            return {diagnostic.code for diagnostic in error.diagnostics}
    return set()


@attack(
    OWNER,
    "a megabyte stands for the name of the model, in each of a thousand answers",
    "GC635",
    instead((wire, "MOST_NAME", 10**9)),
)
def a_book_for_a_name(folder: Path, patch: MonkeyPatch) -> set[str]:
    async def handle(asked: Asked) -> Reply:
        return Reply.json(answer_to(asked.document) | {"model": "m" * 2**20})

    with Server(handle) as server:
        try:
            with engine_at(server.url, attempts=2) as asked:
                asked.ask(make_calls(1))
        except GridcError as error:
            return {diagnostic.code for diagnostic in error.diagnostics}
    return set()


def _forgetful(patch: MonkeyPatch) -> None:
    """Each wait counts by itself."""
    wait_of = Session.wait_of

    def alone(asking: Session, *asked: Any) -> float:
        asking.heard()
        return wait_of(asking, *asked)

    patch.setattr(Session, "wait_of", alone)


@attack(OWNER, "it asks again and again to wait for just less than a run would", "GC646", _forgetful)
def come_back_again(folder: Path, patch: MonkeyPatch) -> set[str]:
    """With a six-hundredth of the times."""
    patch.setattr(session, "FIRST_PAUSE", 0.001)
    patch.setattr(session, "LONGEST_FIRST_WAIT", 0.1)
    with Server(FaultServer({"429": 1.0}, delay=0, retry_after="0.08")) as server:
        try:
            with engine_at(server.url, attempts=4) as asked:
                asked.engine.batches(make_calls(1))
                asked.engine.effective()
        except GridcError as error:
            return {diagnostic.code for diagnostic in error.diagnostics}
    return set()


async def _wait(seconds: float) -> None:
    """A wait that nobody has patience for."""
    if seconds > 1_000_000:
        raise TimeoutError


def _patient(patch: MonkeyPatch) -> None:
    for name in ("LONGEST_WAIT", "LONGEST_FIRST_WAIT"):
        patch.setattr(session, name, float("inf"))


@attack(OWNER, "`Retry-After: 99999999` holds a run for three years", "GC646", _patient)
def come_back_in_three_years(folder: Path, patch: MonkeyPatch) -> set[str]:
    sleep = asyncio.sleep

    async def shortly(seconds: float, *rest: Any) -> Any:
        await _wait(seconds)
        return await sleep(seconds, *rest)

    patch.setattr(asyncio, "sleep", shortly)
    with Server(FaultServer({"429": 1.0}, delay=0, retry_after="99999999")) as server:
        try:
            with engine_at(server.url, attempts=3) as asked:
                asked.engine.batches(make_calls(1))
                asked.engine.effective()
        except GridcError as error:
            return {diagnostic.code for diagnostic in error.diagnostics}
        except TimeoutError:
            pass
    return set()
