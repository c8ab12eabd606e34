"""What a provider would drop is an error before anything is stamped, and nothing is asked to find it."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import Compiled
from gridc.compiler.frontend.read import read_spec
from gridc.compiler.inputs.prices import paid_prices, prices_of
from gridc.compiler.lock.lock import make_lock, read_lock, write_lock
from gridc.compiler.preflight.providers import UNKNOWN, require_taken
from gridc.diagnostics.errors import SpecError
from tests.studies import axis

needs_litellm = pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")
Compile = Callable[..., Compiled]
LOCAL = 'engine = "hf"\nsource = "path:models/right"'


def provider(source: str, **keys: Any) -> tuple[str, str]:
    stated = "".join(f"\n{key} = {json.dumps(value)}" for key, value in keys.items())
    return LOCAL, f'engine = "api"\nsource = "{source}"{stated}'


def found(small: Path, *edits: tuple[str, str]) -> list[tuple[str, str]]:
    """The code and the message of everything that is wrong."""
    text = small.read_text("utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    small.write_text(text, "utf-8")
    checked = read_spec(small, None)
    try:
        require_taken(checked.spec, checked.source)
    except SpecError as error:
        return [(each.code, each.message) for each in error.diagnostics]
    return []


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def asks(small: Path) -> Path:
    """The small study without likelihoods, with five sampled answers."""
    text = small.read_text("utf-8")
    shots = "[harness]\nshots = 2\n"
    assert shots in text
    asked = '[harness]\nprompt = "{{ question }}"\nmethod = "extract"\n'
    small.write_text(
        text[: text.index("[[axis]]")].replace(shots, asked)
        + axis(
            "decoding",
            {"greedy": "temperature = 0", "sampled": "temperature = 0.7\ntop_p = 0.9\nreplicates = 5"},
        )
    )
    return small


@needs_litellm
@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("source", "omits", "dropped"),
    [
        ("openai/gpt-4o-2024-08-06", [], []),
        ("mistral/mistral-large-2411", [], []),
        ("anthropic/claude-opus-4-6", [], ["a seed", "top_p = 0.9"]),
        ("anthropic/claude-opus-4-6", ["seed", "top_p"], []),
        ("openai/o3-2025-04-16", [], ["temperature = 0", "temperature = 0.7", "top_p = 0.9"]),
    ],
)
def test_what_a_provider_would_drop(asks: Path, source: str, omits: list[str], dropped: list[str]) -> None:
    keys = {"omits": omits} if omits else {}
    told = found(asks, provider(source, **keys))
    assert {code for code, _ in told} <= {"GC351"}
    names = {message.split(" does not take ")[1] for _, message in told}
    assert {name.split(" ")[0] for name in names} == {name.split(" ")[0] for name in dropped}


SAME = "would be asked the same with"


@needs_litellm
@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("source", "levels", "told"),
    [
        ("openai/gpt-5-2025-08-07", ["low", "minimal", "high"], []),
        ("openai/gpt-5-2025-08-07", ["none", "xhigh", 2048], ['"none"', '"xhigh"', "2048"]),
        ("openai/gpt-4o-2024-08-06", ["low"], ['"low"']),
        ("anthropic/claude-sonnet-4-5-20250929", [False, 2048, 4096, "max"], []),
        ("anthropic/claude-sonnet-4-5-20250929", [1000], ["its smallest budget is 1,024 tokens"]),
        ("anthropic/claude-sonnet-4-5-20250929", ["low", "minimal"], [SAME]),
        ("anthropic/claude-opus-4-7", [2048], ["2048"]),
        ("gemini/gemini-2.5-flash", [False, 2048, "low"], []),
        ("gemini/gemini-3-pro-preview", [2048], ["2048"]),
        ("deepseek/deepseek-reasoner", [2048, "low", "high"], ["2048", SAME]),
        ("mistral/magistral-medium-2509", [False], ["false"]),
        ("openrouter/qwen/qwen3-32b", [False, 2048, "low", "high"], []),
    ],
)
def test_what_is_said_of_thinking_arrives_and_two_levels_differ(
    asks: Path, source: str, levels: list[Any], told: list[str]
) -> None:
    omits = ["temperature", "top_p", "seed"]
    text = asks.read_text("utf-8")
    levels_of = {f"l{n}": f"thinking = {json.dumps(level)}" for n, level in enumerate(levels)}
    head = text[: text.index("[[axis]]")].replace("[harness]", "[harness]\nmax_tokens = 20000")
    asks.write_text(head + axis("thought", levels_of), "utf-8")
    wrong = found(asks, provider(source, omits=omits))
    assert [code for code, _ in wrong] == ["GC351"] * len(told)
    for (_, message), part in zip(wrong, told, strict=True):
        assert part in message


@needs_litellm
@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("temperature", "omits", "wrong"), [(0, [], True), (1.0, [], False), (0, ["temperature"], False)]
)
def test_anthropic_thinks_at_its_own_temperature(
    asks: Path, temperature: float, omits: list[str], wrong: bool
) -> None:
    text = asks.read_text("utf-8")
    head = text[: text.index("[[axis]]")].replace("[harness]", "[harness]\nmax_tokens = 20000")
    levels = {"off": "thinking = false", "on": f"thinking = 2048\ntemperature = {temperature}"}
    asks.write_text(head + axis("thought", levels), "utf-8")
    told = found(asks, provider("anthropic/claude-sonnet-4-5-20250929", omits=["seed", *omits]))
    name = "anthropic/claude-sonnet-4-5-20250929"
    message = f"`{name}` cannot be asked with thinking = 2048 at temperature = 0 (it thinks only at 1)"
    assert told == ([("GC351", message)] if wrong else [])


@needs_litellm
@pytest.mark.usefixtures("offline")
def test_a_name_of_no_provider(asks: Path) -> None:
    assert [code for code, _ in found(asks, provider("nobody-knows-this-2026-01-01"))] == ["GC351"]


def test_without_litellm_it_says_that_it_did_not_look(asks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gridc.compiler.preflight import providers

    monkeypatch.setattr(providers, "find_spec", lambda name: None)
    asks.write_text(asks.read_text().replace(*provider("anthropic/claude-opus-4-6")))
    checked = read_spec(asks, None)
    assert require_taken(checked.spec, checked.source) == {"right": UNKNOWN}


@pytest.mark.parametrize(
    ("address", "key", "codes"),
    [
        ("http://models.example.org/v1", "SOME_KEY", ["GC352"]),
        ("http://models.example.org/v1", None, []),
        ("https://models.example.org/v1", "SOME_KEY", []),
        ("http://127.0.0.1:8000/v1", "SOME_KEY", []),
        ("http://localhost:8000/v1", "SOME_KEY", []),
        ("http://[::1]:8000/v1", "SOME_KEY", []),
        ("http://127.0.0.1.example.org/v1", "SOME_KEY", ["GC352"]),
    ],
)
def test_a_key_never_travels_in_the_open(asks: Path, address: str, key: str | None, codes: list[str]) -> None:
    keys = {"base_url": address, **({"key_env": key} if key else {})}
    assert [code for code, _ in found(asks, provider("m-2026-01-01", **keys))] == codes


@pytest.mark.parametrize(
    ("keys", "codes"),
    [
        ({}, ["GC636"]),
        ({"base_url": "http://127.0.0.1:1/v1"}, ["GC636"]),
        ({"base_url": "http://127.0.0.1:1/v1", "chat_template": False}, []),
    ],
)
def test_a_ranking_needs_a_server_that_takes_plain_text(
    asks: Path, keys: dict[str, Any], codes: list[str]
) -> None:
    text = asks.read_text().replace('method = "extract"', 'method = "loglikelihood"')
    asks.write_text(text.replace("temperature = 0.7\ntop_p = 0.9\nreplicates = 5", 'normalise = "char"'))
    told = found(asks, provider("openai/gpt-4o-2024-08-06", **keys))
    assert sorted({code for code, _ in told}) == codes


def test_a_spec_without_an_api_model_imports_neither_litellm_nor_httpx(card: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from gridc.study.place import Place
from gridc.study.validation import validate
validate(Place(Path({str(card)!r}), None))
print(sorted({{"litellm", "httpx", "torch"}} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={"GRIDC_CACHE": "", "PATH": "", "PYTHONPATH": ":".join(sys.path)})  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_prices_are_kept_in_the_lock_beside_the_stamp(asks: Path, compiled: Compile) -> None:
    price = 'price = { input = 1, output = 2, as_of = "2026-01-01" }'
    address = 'base_url = "http://127.0.0.1:1/v1"'
    study = compiled((LOCAL, f'engine = "api"\nsource = "m-2026-01-01"\n{address}\n{price}'))
    lock = make_lock(study.study, asks)
    assert lock.prices == {
        "right": {"input": 1.0, "output": 2.0, "cached": 1.0, "source": "the spec", "as_of": "2026-01-01"}
    }
    write_lock(lock, study.lock_path)
    assert read_lock(study.lock_path) == lock
    dearer = compiled((price, price.replace("1,", "9,")))
    assert make_lock(dearer.study, asks).stamp == lock.stamp, "a price moves no answer"


@needs_litellm
def test_a_frozen_price_outlives_a_new_table(asks: Path, compiled: Compile) -> None:
    spec = compiled(provider("openai/gpt-4o-2024-08-06")).spec
    listed = prices_of(spec)["right"]
    old = {"input": 7.0, "output": 8.0, "cached": 7.0, "source": "litellm 1", "as_of": "2025-01-01"}
    assert listed.source.startswith("litellm 1.")
    assert prices_of(spec, {"right": old})["right"].input == 7.0


def test_what_cannot_go_in_batches_is_an_error(small: Path) -> None:
    address = 'engine = "api"\nsource = "m-2026-01-01"\nbase_url = "http://127.0.0.1:1/v1"\nbatch = true'
    wrong = found(small, (LOCAL, address))
    assert ("GC353", "the calls of `right` cannot go in batches: it ranks given candidates") in wrong


@needs_litellm
@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("source", "keys", "why"),
    [
        ("openai/gpt-4o-mini", {}, None),
        ("anthropic/claude-opus-4-6", {"omits": ["seed", "top_p"]}, None),
        ("groq/llama-3.3-70b-versatile", {}, "gridc knows no batches of `groq`"),
        ("m", {"base_url": "http://127.0.0.1:1/v1"}, None),
        ("m", {"base_url": "http://127.0.0.1:1/v1", "server": "llama.cpp"}, "`llama.cpp` serves none"),
    ],
)
def test_whose_batches_are_known(asks: Path, source: str, keys: dict[str, Any], why: str | None) -> None:
    wrong = [
        message for code, message in found(asks, provider(source, batch=True, **keys)) if code == "GC353"
    ]
    assert wrong == ([] if why is None else [f"the calls of `right` cannot go in batches: {why}"])


@needs_litellm
def test_batches_have_prices_of_their_own(asks: Path, compiled: Compile) -> None:
    """Against litellm's table, read here."""
    import litellm

    table = Path(litellm.__file__).with_name("model_prices_and_context_window_backup.json")
    row = json.loads(table.read_text("utf-8"))["gpt-4o-mini-2024-07-18"]
    study = compiled(provider("openai/gpt-4o-mini-2024-07-18", batch=True))
    price = paid_prices(study.spec)["right"]
    for mine, theirs in (("input", "input_cost_per_token"), ("output", "output_cost_per_token")):
        assert getattr(price, mine) == pytest.approx(row[f"{theirs}_batches"] * 1e6)
        assert getattr(prices_of(study.spec)["right"], mine) == pytest.approx(row[theirs] * 1e6)
    assert price.source.endswith("for batches")
    lock = make_lock(study.study, asks)
    write_lock(lock, study.lock_path)
    read = read_lock(study.lock_path)
    assert read is not None
    assert paid_prices(study.spec, read.prices)["right"] == price
    single = compiled(("\nbatch = true", ""))
    assert make_lock(single.study, asks).stamp == lock.stamp, "how calls are sent moves no answer"
    assert paid_prices(single.spec, read.prices)["right"] == prices_of(study.spec)["right"]


def test_a_model_without_a_batch_price_counts_at_that_of_single_calls(asks: Path, compiled: Compile) -> None:
    stated = {"base_url": "http://127.0.0.1:1/v1", "batch": True}
    price = '\nprice = { input = 4, output = 8, as_of = "2026-01-01" }'
    old, new = provider("m-2026-01-01", **stated)
    paid = paid_prices(compiled((old, new + price)).spec)["right"]
    assert (paid.input, paid.output) == (4.0, 8.0)
    assert paid.source == "the spec (none for batches: that of single calls)"


JUDGE = """
[judge]
source = "SOURCE"
KEYS
rubric = "Say `good` or `bad`."
labels = ["good", "bad"]
blinding = { sanitise = false, seed = 1 }
"""


def judged(asks: Path, source: str, keys: str) -> list[tuple[str, str]]:
    text = asks.read_text("utf-8").replace(
        'method = "extract"', 'method = "judge"\nscores = { good = 1, bad = 0 }'
    )
    asks.write_text(text + JUDGE.replace("SOURCE", source).replace("KEYS", keys), "utf-8")
    return found(asks)


def test_the_key_of_a_judge_does_not_travel_in_the_open(asks: Path) -> None:
    wrong = judged(asks, "m-2026-01-01", 'base_url = "http://example.com/v1"\nkey_env = "A_KEY"')
    assert [code for code, _ in wrong] == ["GC352"]


@needs_litellm
def test_what_the_provider_of_a_judge_would_drop_is_an_error(asks: Path) -> None:
    """A judge is asked greedily, which models that reason do not take."""
    wrong = judged(asks, "openai/gpt-5-2025-08-07", "")
    assert wrong == [
        ("GC351", "the provider of `openai/gpt-5-2025-08-07` does not take temperature = 0, "
                  "and would be sent the rest")
    ]  # fmt: skip
