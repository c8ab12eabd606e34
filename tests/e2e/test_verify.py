"""`gridc verify` on a finished study: silent when nothing changed, and naming whatever did."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from math import comb
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.diagnostics.errors import Diagnostic, UnavailableError, VerificationError
from gridc.runtime.engines import OPENERS
from gridc.runtime.engines.protocol import Engine
from gridc.runtime.store.store import Store
from gridc.schema.spec import EngineSettings as Settings
from gridc.study import verifying
from tests.e2e.conftest import Done, command

RESULTS = Path("results/small")
Change = Callable[[Path], None]


def verify(folder: Path, *options: str) -> Done:
    return command("verify", *options, cwd=folder)


def flip(path: Path, at: int) -> None:
    """Change one byte of a file, to a letter or digit that differs."""
    data = bytearray(path.read_bytes())
    data[at] = data[at] ^ 1
    path.write_bytes(data)


def flip_text(name: str, old: bytes) -> Change:
    """A change of one byte, just after the first occurrence of a text."""

    def change(folder: Path) -> None:
        path = folder / name
        flip(path, path.read_bytes().index(old) + len(old))

    return change


def in_store(statement: str) -> Change:
    def change(folder: Path) -> None:
        with sqlite3.connect(folder / RESULTS / "store.sqlite") as db:
            assert db.execute(statement).rowcount > 0

    return change


def flip_weight(folder: Path) -> None:
    flip(folder / "models/qwen2/model.safetensors", -1000)


def flip_response(folder: Path) -> None:
    """One character of the text of one stored generation."""
    with sqlite3.connect(folder / RESULTS / "store.sqlite") as db:
        call, answer = db.execute(
            "SELECT id, answer FROM call WHERE kind = 'generate' AND json_extract(answer, '$.text') <> ''"
        ).fetchone()
        content = json.loads(answer)
        content["text"] = chr(ord(content["text"][0]) ^ 1) + content["text"][1:]
        db.execute("UPDATE call SET answer = ? WHERE id = ?", [json.dumps(content), call])


def test_an_untouched_study_verifies(finished: Path) -> None:
    done = verify(finished)
    assert done.returncode == 0, done.stderr
    assert "verified: " in done.stdout


CHANGES: list[tuple[str, Change, str, str]] = [
    ("item", flip_text("items.jsonl", b'"context": "'), "GC701", "benchmarks.bbq"),
    ("template", flip_text("minimal.jinja", b"Answer"), "GC701", "templates.path:minimal.jinja"),
    ("weight", flip_weight, "GC701", "models.qwen2.files.model.safetensors"),
    ("lock", flip_text("gridcard.lock", b'"title": "'), "GC403", "gridcard.lock"),
    ("spec", flip_text("gridcard.toml", b'title = "'), "GC701", "spec.study.title"),
    ("response", flip_response, "GC703", "the answer of call"),
    (
        "ranking",
        in_store(
            "UPDATE call SET answer = json_set(answer, '$.loglikelihoods[0]', 0.0) WHERE id ="
            " (SELECT id FROM call WHERE kind = 'loglikelihood' LIMIT 1)"
        ),
        "GC703",
        "the answer of call",
    ),
    (
        "request",
        in_store(
            "UPDATE call SET request = json_set(request, '$.max_tokens', 9) WHERE id ="
            " (SELECT id FROM call WHERE kind = 'generate' LIMIT 1)"
        ),
        "GC703",
        "the request of call",
    ),
    ("prompt", in_store("UPDATE prompt SET content = replace(content, '?', '!')"), "GC703", "prompt"),
    (
        "score",
        in_store("UPDATE sample SET score = 1 - score WHERE replicate = 0"),
        "GC705",
        "replicate 0",
    ),
    (
        "sample",
        in_store(
            "UPDATE trace SET call = (SELECT max(id) FROM call WHERE kind = 'loglikelihood')"
            " WHERE call = (SELECT min(id) FROM call WHERE kind = 'generate')"
        ),
        "GC704",
        "the stored calls are not those of the plan",
    ),
    (
        "lock history",
        flip_text("gridcard.lock", b'"created": "20'),
        "GC701",
        "not the one that the run started",
    ),
    ("finish", in_store("DELETE FROM event WHERE kind = 'finish'"), "GC706", "no event records the results"),
    ("page", flip_text("results/small/report.html", b"<title>"), "GC707", "report.html"),
    ("event", in_store("UPDATE event SET at = '2020-01-01' WHERE seq = 2"), "GC702", "event 2"),
    (
        "certificate",
        flip_text("results/small/certificate.json", b'"plus": '),
        "GC707",
        "benchmarks",
    ),
]


@pytest.mark.parametrize(
    ("change", "code", "name"), [each[1:] for each in CHANGES], ids=[each[0] for each in CHANGES]
)
def test_one_change_is_found_and_named(study: Path, change: Change, code: str, name: str) -> None:
    change(study)
    done = verify(study)
    assert done.returncode == 7, done.stdout
    assert f"error[{code}]" in done.stderr
    assert name in done.stderr
    assert "Traceback" not in done.stderr


def test_a_share_of_the_calls_can_be_made_again(finished: Path) -> None:
    done = verify(finished, "--rerun", "5%", "--json")
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout)["rerun"]
    assert first["fresh"]
    assert [(row["model"], row["calls"], row["of"], row["changed"]) for row in first["models"]] == [
        ("qwen2", 8, 160, 0),
        ("llama", 8, 160, 0),
    ]
    assert first["models"][0]["found"]["0.05"] == pytest.approx(1 - comb(152, 8) / comb(160, 8))
    done = verify(finished, "--rerun", "5%", "--rerun-seed", first["seed"])
    assert f"with seed {first['seed']}, which was given" in done.stdout
    assert "qwen2 at fp32: 8 of 160 calls were made again; 0 answers differ" in done.stdout


def test_what_a_rerun_asks_the_hub_for_is_told_before(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = shutil.copytree(finished, tmp_path / "hosted") / "gridcard.toml"
    hosted = f'"hf:makers/qwen2"\nrevision = "{"a" * 40}"'
    spec.write_text(spec.read_text().replace('"path:models/qwen2"', hosted))
    (line,) = verifying.of_hub(compile_spec(spec))
    assert line.startswith("leaves: https://huggingface.co is asked for the files of qwen2")
    assert verifying.of_hub(compile_spec(finished / "gridcard.toml")) == ()
    monkeypatch.setattr(verifying, "of_hub", lambda _: [line])
    assert line in verify(finished, "--rerun", "5%").stderr
    assert line not in verify(finished).stderr


def test_a_seed_alone_draws_nothing(finished: Path) -> None:
    assert verify(finished, "--rerun-seed", "ab").returncode == 2


def test_a_rerun_takes_no_kept_proof(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who doubts answers does not ask the cache of whom they doubt."""
    opened: list[bool] = []

    def opens(name: str, identity: object, precision: str, settings: Settings, waived: object) -> Engine:
        opened.append(settings.reuse_proofs)
        raise UnavailableError([Diagnostic("GC604", "it is not opened here")])

    monkeypatch.setitem(vars(OPENERS)["_things"], "hf", opens)
    done = verify(finished, "--rerun", "5%")
    assert opened == [False]
    assert "GC604" in done.stderr


def test_answers_of_another_model_are_found_by_asking(study: Path) -> None:
    """Whoever writes a store can make every digest in it fit. Only the model gives its answers."""
    pytest.importorskip("torch")
    from gridc.runtime.rerun import Draw, rerun

    generated = "SELECT id FROM call WHERE kind = 'generate' ORDER BY id"
    ranked = "SELECT id FROM call WHERE kind = 'loglikelihood' ORDER BY id"
    changes = {
        "another text, called a near tie": "json_set(answer, '$.text', 'B', '$.near_ties', 9)",
        "another end": "json_set(answer, '$.finish', 'length')",
        "many near ties": "json_set(answer, '$.near_ties', 280)",
        "another last token": "json_set(answer, '$.end', 7)",
        "no count of near ties": "json_remove(answer, '$.near_ties')",
        "an impossible candidate": "json_set(answer, '$.loglikelihoods[0]', NULL)",
        "a likelier candidate": "json_set(answer, '$.loglikelihoods[1]', -0.5)",
        "a candidate less": "json_remove(answer, '$.loglikelihoods[0]')",
        "other tokens": "json_set(answer, '$.tokens[0]', 99)",
        "no form at all": "'7'",
        "a likelihood by less than 1e-3": "json_set(answer, '$.loglikelihoods[0]',"
        " json_extract(answer, '$.loglikelihoods[0]') + 9e-4)",
        "the most likely tokens": "json_set(answer, '$.greedy[0]', json('true'))",
    }
    with sqlite3.connect(study / RESULTS / "store.sqlite") as db:
        tied = {call for (call,) in db.execute("SELECT id FROM call WHERE answer ->> 'near_ties' > 0")}
        texts = [call for (call,) in db.execute(generated) if call not in tied]
        rankings = [call for (call,) in db.execute(ranked)]
        forged = dict(zip(changes, [*texts[:5], *rankings[:7]], strict=True))
        for name, call in forged.items():
            db.execute(f"UPDATE call SET answer = {changes[name]} WHERE id = ?", [call])
        forged["another prompt"] = texts[5]
        sent = "UPDATE call SET sent = json_set(sent, '$.prompt_token_digest', 'x') WHERE id = ?"
        db.execute(sent, [texts[5]])
    compiled = compile_spec(study / "gridcard.toml")
    with Store.open(study / RESULTS / "store.sqlite") as store:
        found = list(rerun(compiled, store, Draw.of(1.0)))
    named = {call for row in found for call in row.differing}
    assert {name for name, call in forged.items() if call not in named} == set()
    assert named == set(forged.values())
    assert sum(row.calls for row in found) == sum(row.of for row in found) == 320
    with Store.open(study / RESULTS / "store.sqlite") as store, pytest.raises(VerificationError) as caught:
        verifying.repeat_calls(compiled, store, Draw.of(1.0, "ab"))
    assert {each.code for each in caught.value.diagnostics} == {"GC708"}
    assert "--rerun-seed ab" in (caught.value.diagnostics[0].help or "")


@pytest.mark.parametrize("share", ["0", "101", "some"])
def test_a_share_is_a_share(finished: Path, share: str) -> None:
    assert verify(finished, "--rerun", share).returncode == 2
