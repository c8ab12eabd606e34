"""A provider's model through litellm, on a server of our own: one request an attempt, and no key is kept."""

from importlib.util import find_spec

import pytest

from tests.runtime.api.conftest import at_home, engine_at, faulty, make_calls

KEY = "sk-canary-through-litellm"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")
def test_litellm_translates_and_every_request_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with faulty({"500": 0.2, "429": 0.1}) as (server, url):
        at_home(monkeypatch, "openai", url)
        monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Other: {KEY}-of-another")
        with engine_at(None, source="openai/gpt-4o-2024-08-06", attempts=10) as asked:
            answers = asked.ask(make_calls(12))
    assert len(answers) == 12
    assert sum(server.seen.values()) == len(asked.journal.attempts), "a library sent requests of its own"
    assert set(server.keys) == {f"Bearer {KEY}"}
    told = str(list(asked.journal.attempts.values())) + str(list(answers.values()))
    assert KEY not in told
    for answer in answers.values():
        assert answer.sent["body"] in server.bodies, "what is stored is what was sent"
