"""Runs of MLflow and of Weights & Biases say what the cards say: read back by MLflow's client, and from the
file that W&B would send."""

import json
import shutil
import struct
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import gridc
from gridc.diagnostics.errors import UnavailableError, UsageError, VerificationError
from gridc.reports.exchange.tracked import cut_to, tracked_runs
from gridc.reports.files import read_deck
from gridc.schema.card import Card, CardDeck
from tests.e2e.conftest import process


@pytest.fixture
def deck(study: Path) -> CardDeck:
    return read_deck(study / "results" / "small")


def expected(deck: CardDeck, model: str) -> dict[str, float]:
    """Score, limits and range of each benchmark of a model, from the document of the cards."""
    wanted: dict[str, float] = {}
    for card in json.loads(deck.model_dump_json())["cards"]:
        if card["model"] == model:
            score, place = card["point_score"], card["benchmark"]
            wanted |= {f"{place}/score": score["score"], f"{place}/items": card["items"]}
            wanted |= dict(zip((f"{place}/score_low", f"{place}/score_high"), score["interval"], strict=True))
            full = next(scope for scope in card["score_neighbourhood"] if scope["kind"] == "full")
            wanted |= {
                f"{place}/score_least": full["least"],
                f"{place}/score_greatest": full["greatest"],
            }
    return wanted


def kept_records(data: bytes) -> Iterator[bytes]:
    """The records of a `.wandb` file, a log as LevelDB writes it behind a header of 7 bytes: blocks of
    32 KiB, in which each part has a checksum, a length and a kind (1 whole, 2 first, 3 middle, 4 last)."""
    at, part = 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:  # too short for a header: the block is filled up
            at += 32768 - at % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        part += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield part
            part = b""


def test_mlflow_reads_what_the_cards_say(
    study: Path, deck: CardDeck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'runs.db'}")
    first = gridc.open(study).log_to("mlflow")
    again = gridc.open(study).log_to("mlflow")
    assert first == again and len(first) == len({card.model for card in deck.cards})
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("small")
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert runs.keys() == {card.model for card in deck.cards}
    for model, run in runs.items():
        assert expected(deck, model).items() <= run.data.metrics.items()
        assert run.data.tags["gridc.stamp"] == deck.stamp
        assert run.info.status == "FINISHED"
        files = {file.path for file in client.list_artifacts(run.info.run_id)}
        assert files == {"certificate.json", "gridcard.json"}, (
            "and not the page, which shows prompts and answers"
        )
        card = next(card for card in deck.cards if card.model == model)
        for axis, level in card.axis_receipt.configuration.items():
            assert run.data.params[f"{card.benchmark}/axis.{axis}"] == level
        for sentence in deck.hypotheses:
            assert sentence in run.data.tags["mlflow.note.content"]
    gridc.open(study).log_to("mlflow", "elsewhere")
    assert client.get_experiment_by_name("elsewhere") is not None


def test_wandb_would_send_what_the_cards_say(study: Path, deck: CardDeck, tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    records = import_module("wandb.proto.wandb_internal_pb2")
    # A process of its own: wandb reads its variables once.
    done = process("export", "wandb", "--project", "trials", cwd=study, WANDB_MODE="offline")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    sent: dict[str, dict[str, float]] = {}
    for file in study.rglob("*.wandb"):
        run = None
        for data in kept_records(file.read_bytes()):
            record = records.Record()
            record.ParseFromString(data)
            if record.HasField("run"):
                run = record.run
            for item in record.history.item:
                name = item.key or "/".join(item.nested_key)
                if run is not None and not name.startswith("_"):
                    sent.setdefault(run.display_name, {})[name] = json.loads(item.value_json)
        assert run is not None and run.project == "trials" and run.run_id.startswith(deck.stamp[:12])
    assert len(said) == len(sent) and all("wandb sync" in line for line in said)
    assert sent.keys() == {card.model for card in deck.cards}
    for model, metrics in sent.items():
        assert expected(deck, model).items() <= metrics.items()


@pytest.mark.parametrize("tracker", ("mlflow", "wandb"))
def test_a_tracker_that_does_not_answer(
    tracker: str, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(tracker)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    nobody = {"WANDB_API_KEY": "", "HOME": str(tmp_path), "NETRC": str(tmp_path / "none")}
    nobody |= {"MLFLOW_TRACKING_URI": "http://127.0.0.1:1", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
    done = process("export", tracker, cwd=study, **nobody)
    assert done.returncode == UnavailableError.exit_code and "error[GC624]" in done.stderr, done.stderr


def test_another_tracker_is_refused(study: Path) -> None:
    with pytest.raises(UsageError, match="no experiment tracker is called `mlflo`"):
        gridc.open(study).log_to("mlflo")


def test_nothing_is_logged_that_the_store_does_not_say(study: Path, deck: CardDeck) -> None:
    file = study / "results" / "small" / "gridcard.json"
    told = str(deck.cards[0].point_score.score)
    file.write_text(file.read_text("utf-8").replace(told, "0.123"), "utf-8")
    with pytest.raises(VerificationError):
        gridc.open(study).log_to("mlflow")
    shutil.rmtree(study / "results")
    with pytest.raises(gridc.GridcError):
        gridc.open(study).log_to("mlflow")


def test_a_model_without_a_score_is_no_run(deck: CardDeck) -> None:
    def without_scores(*models: str) -> CardDeck:
        def card_of(card: Card) -> Card:
            score = card.point_score.model_copy(update={"score": None})
            return card.model_copy(update={"point_score": score}) if card.model in models else card

        cards = map(card_of, deck.cards)
        return deck.model_copy(update={"cards": tuple(cards)})

    first, *others = dict.fromkeys(card.model for card in deck.cards)
    assert [run.model for run in tracked_runs(without_scores(first))] == others != []
    with pytest.raises(UsageError, match="no model has a score yet"):
        tracked_runs(without_scores(first, *others))


def test_a_long_value_is_cut_with_a_remark() -> None:
    assert cut_to("short", 6000) == "short"
    cut = cut_to("x" * 7000, 6000)
    assert len(cut) == 6000 and "cut: 7,000 characters" in cut
