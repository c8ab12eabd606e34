"""A key that is pasted where it does not belong is shown nowhere: by no command, in no form of output."""

import os
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner

from gridc.cli import main
from gridc.diagnostics.secrets import looks_like_key, masked
from tests import studies
from tests.e2e.conftest import command

KEYS = (
    "sk-proj-AbCdEf0123456789abcdefghijklmnopqrstuvwxyz",
    "sk_live_0123456789abcdefghijkl",
    "hf_abcdefghijKLMNOPQRSTUV1234567890",
    "gsk_0123456789abcdefghijABCDEFGHIJ",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
)
SERVER = "http://127.0.0.1:9/v1"
PLACES = (
    'base_url = "{server}", key_env = "{key}"',
    'key_env = "{key}"',
    'base_url = "{server}", api_key = "{key}"',
    'base_url = "{server}", token = "{key}"',
    'base_url = "http://user:{key}@127.0.0.1:9/v1"',
    'base_url = "{server}?key={key}"',
)
COMMANDS = (
    ("validate",),
    ("validate", "--format", "json"),
    ("validate", "--format", "sarif"),
    ("plan", "--json"),
    ("run",),
    ("run", "--json"),
)


def spec(keys: str) -> str:
    models = {"m": f'engine = "api", source = "m-2026-01-01", {keys}'}
    fields = 'query = "q", options = ["a", "b"], gold = "gold"'
    return (
        studies.head("keys", models, "descriptive")
        + studies.benchmark("facts", fields, 'option_order = "file"')
        + '[harness]\nprompt = "{{ question }}"\nmethod = "extract"\n'
    )


@pytest.fixture(params=KEYS)
def key(request: pytest.FixtureRequest) -> Iterator[str]:
    yield request.param


@pytest.mark.parametrize("place", PLACES)
def test_no_command_shows_a_key_of_the_spec(place: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "gridcard.toml").write_text(spec(place.format(server=SERVER, key=key)), "utf-8")
    (tmp_path / "items.jsonl").write_text('{"q": "?", "a": "x", "b": "y", "gold": 0}\n', "utf-8")
    for words in COMMANDS:
        done = command(*words, cwd=tmp_path)
        assert done.returncode in (2, 3, 5, 6), (words, done)
        assert key not in done.stdout + done.stderr, (words, place)
        assert key[8:] not in done.stdout + done.stderr, (words, place)
    for file in tmp_path.rglob("*"):
        assert file.name in ("gridcard.toml", "items.jsonl") or key.encode() not in file.read_bytes(), file


def test_a_broken_line_with_a_key_is_shown_without_it(key: str, tmp_path: Path) -> None:
    (tmp_path / "gridcard.toml").write_text(f"gridcard = 1\nkey_env = {key}\n", "utf-8")
    assert key not in command("validate", cwd=tmp_path).stderr


WORDS = (("--allow", "{key}"), ("--allow", "127.0.0.1:9:{key}"), ("--limit", "{key}"), ("--api-key", "{key}"))


@pytest.mark.parametrize("words", [*WORDS, ("{key}",)])
def test_no_command_shows_a_key_of_the_command_line(words: tuple[str, ...], tmp_path: Path) -> None:
    key = KEYS[0]
    with chdir(tmp_path):
        for group in ("run", "plan"):
            done = CliRunner().invoke(main, [group, *(word.format(key=key) for word in words)])
            assert done.exit_code != 0
            assert key not in done.output + done.stderr


def test_the_name_of_a_variable_is_shown_and_says_what_to_do(tmp_path: Path) -> None:
    name = "AZURE_OPENAI_KEY_2024_1"
    assert name not in os.environ
    (tmp_path / "gridcard.toml").write_text(spec(f'base_url = "{SERVER}", key_env = "{name}"'), "utf-8")
    (tmp_path / "items.jsonl").write_text('{"q": "?", "a": "x", "b": "y", "gold": 0}\n', "utf-8")
    done = command("run", cwd=tmp_path)
    assert f"set {name} in the environment" in done.stderr
    (tmp_path / "gridcard.toml").write_text(spec(f'base_url = "{SERVER}", key_env = "{KEYS[2]}"'), "utf-8")
    done = command("run", cwd=tmp_path)
    assert "this looks like a key, where the name of an environment variable is meant" in done.stderr
    assert "hf_a" in done.stderr


def test_other_words_stay_as_they_are() -> None:
    for text in (
        "claude-3-5-sonnet-20241022", "hf:hf-internal-testing/tiny-random-LlamaForCausalLM", "T4",
        "meta-llama/Llama-3.1-8B-Instruct", "max_tokens = 512", "path:token_counts_2024.jsonl",
        "https://api.openai.com/v1", "a09a35458c702b33eeacc393d103063234e8bc28", "sk-learn, sk-image",
        "the key of `axis[template].level[T4]` at https://user.example/items?key=value",
    ):  # fmt: skip
        assert masked(text) == text or "?key=value" in text, masked(text)
    assert not looks_like_key("OPENAI_API_KEY")
    assert all(map(looks_like_key, KEYS))
