"""No answer, failure or batch shows a key that its server repeats, and no ordinary word is taken for one."""

import io
from importlib.util import find_spec
from typing import Any

import pytest

from gridc.diagnostics.secrets import HIDDEN, KeyScrubber, is_ordinary
from gridc.runtime.engines.api import batch_protocols, client
from gridc.runtime.engines.protocol import Answer
from tests.echoes import NOT_JSON, Echo, forms_of, traces_in
from tests.runtime.api.conftest import Asked, at_home, engine_at, make_calls, serving
from tools.servers.batches import BatchServer

KEY = "sk-Canary+4711/never~write=THIS:0815"


@pytest.mark.parametrize("form", forms_of(KEY))
def test_every_form_of_a_key_is_taken_out(form: str) -> None:
    spelled = forms_of(KEY)[form]
    cleaned = KeyScrubber([KEY]).of_text(f"The key is {spelled}, he said.")
    assert HIDDEN in cleaned
    assert cleaned.startswith("The key is ") and cleaned.endswith(", he said.")
    assert not traces_in(cleaned.encode(), KEY)


@pytest.mark.parametrize("key", ["sk-1234567890abcdef", 'with"quote\\and%zz', "schlüssel-4711-geheim"])
def test_keys_of_other_characters_are_taken_out_too(key: str) -> None:
    scrubber = KeyScrubber([key])
    for spelled in (key, key.upper(), "".join(f"%{byte:02X}" for byte in key.encode())):
        assert scrubber.of_text(f"<{spelled}>") == f"<{HIDDEN}>"


@pytest.mark.parametrize("size", [37, 4096])
def test_a_key_in_two_chunks_is_one(size: int) -> None:
    """A file of results is read piece by piece."""
    scrubber, held, written = KeyScrubber([KEY]), b"", io.BytesIO()
    data = b"one line\n" * 90 + b"\n".join(form.encode() for form in forms_of(KEY).values())
    for start in range(0, len(data), size):
        whole, held = scrubber.of_chunks(held + data[start : start + size])
        written.write(whole)
    assert written.getvalue() + scrubber.of_bytes(held) == scrubber.of_bytes(data)


@pytest.mark.parametrize(
    "key", ["test", "EMPTY", "not-needed", "none", "12345678", "placeholder", "no-key", ""]
)
def test_an_ordinary_word_in_the_place_of_a_key_masks_no_answer(key: str) -> None:
    said = f"This test is EMPTY: not-needed, none of 12345678, a placeholder, no-key. {key}"
    assert is_ordinary(key)
    assert KeyScrubber([key]).of_text(said) == said
    if len(key) >= 4:
        assert KeyScrubber([key]).of_message(f"bad key {key}") == f"bad key {HIDDEN}", "no answer: a message"


def ask_all(asked: Asked, echo: Echo) -> dict[str, Answer]:
    """What comes of many calls, once one was answered: else the first refusals end the run."""
    first, *calls = make_calls(30, max_tokens=64)
    echo.misleads = 10**9
    answers = asked.ask([first])
    echo.misleads = 0
    return answers | asked.ask(calls)


def kept(asked: Asked, answers: Any) -> bytes:
    """All that an engine hands on of what it asked."""
    told = [*asked.journal.attempts.values(), *asked.journal.submissions.values(), *answers.values()]
    return "\n".join(map(repr, told)).encode()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_protocols, "FIRST_LOOK", 0.01)
    monkeypatch.setattr(client, "GATHERED_BYTES", 100)
    for variable in ("THE_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, KEY)


def test_no_answer_and_no_failure_shows_the_key() -> None:
    echo = Echo(KEY)
    with serving(echo) as url, engine_at(url, key_env="THE_KEY", attempts=3) as asked:
        answers = ask_all(asked, echo)
    assert set(echo.went) == {*echo.wrongs, "answer"}
    told = kept(asked, answers)
    assert HIDDEN.encode() in told
    assert not traces_in(told, KEY)
    texts = [answer.content["text"] for answer in answers.values() if "text" in answer.content]
    assert all("The answer is " in text for text in texts)


def test_no_result_of_a_batch_shows_the_key() -> None:
    wrongs = [wrong for wrong in Echo(KEY).wrongs if wrong not in NOT_JSON]
    server = BatchServer(Echo(KEY, misleads=0, wrongs=wrongs), ["half_failed"])
    with serving(server) as url, engine_at(url, key_env="THE_KEY", batch=True, attempts=4) as asked:
        answers = asked.ask(make_calls(30, max_tokens=64))
    told = kept(asked, answers)
    assert HIDDEN.encode() in told
    assert not traces_in(told, KEY)


def test_the_key_of_a_word_is_left_in_what_a_model_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "answer")
    with serving(Echo(KEY)) as url, engine_at(url, key_env="THE_KEY") as asked:
        answers = asked.ask(make_calls(2, max_tokens=64))
    assert all("The answer is " in answer.content["text"] for answer in answers.values())


@pytest.mark.slow
@pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")
def test_litellm_shows_no_key_that_a_provider_repeats(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    echo = Echo(KEY)
    with serving(echo) as url:
        at_home(monkeypatch, "openai", url)
        with engine_at(None, source="openai/gpt-4o-2024-08-06", attempts=3) as asked:
            answers = ask_all(asked, echo)
    told = kept(asked, answers)
    assert HIDDEN.encode() in told
    assert not traces_in(told, KEY)
    assert not traces_in("".join(capfd.readouterr()).encode(), KEY)
