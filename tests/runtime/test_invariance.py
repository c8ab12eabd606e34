"""One study, run in every way that may not matter: the results digest is one."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.lock.deviations import log_path, require_reconciled
from gridc.compiler.lock.lock import Lock, make_lock
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import IncompleteError
from gridc.runtime import stages
from gridc.runtime.merge import merge_stores
from gridc.runtime.run import RunResult, run_study
from gridc.runtime.stages import Shard
from gridc.runtime.store.events import ModelLoaded, NoiseMeasured, first_break
from gridc.runtime.store.store import Store
from tests.e2e.conftest import make_study

pytest.importorskip("torch")

from gridc.runtime.engines.hf import loading
from gridc.runtime.engines.hf.engine import HfEngine

ENGINE = "kv_mib = 4\nthreads = 2\nnoise_sample = 12\n"


class Study:
    """A small study in a folder, to be run with other engine settings."""

    def __init__(self, folder: Path) -> None:
        self.spec = make_study(folder, items=4)
        text = self.spec.read_text().replace("max_tokens = 24", "max_tokens = 10")
        # letters are ranked, so that rankings and free answers share their few-shot prompts
        ranked = 'method = "loglikelihood"\ncandidates = "letter"'
        self.spec.write_text(text.replace('method = "loglikelihood"', ranked))

    def compiled(self, engine: str = "") -> tuple[Compiled, Lock]:
        text = self.spec.read_text().partition("[engine]")[0]
        self.spec.write_text(f"{text}[engine]\n{engine or ENGINE}")
        compiled = compile_spec(self.spec, None)
        return compiled, make_lock(compiled.study, self.spec)

    def run(self, store: Path, engine: str = "", shard: Shard | None = None) -> RunResult:
        compiled, lock = self.compiled(engine)
        departures = require_reconciled(lock, compiled.study, log_path(self.spec))
        return run_study(compiled, lock, departures, store, lambda step: None, shard or Shard())


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def whole(study: Study, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunResult]:
    """The store and the outcome of a run with the settings as they are."""
    path = tmp_path_factory.mktemp("whole") / "store.sqlite"
    return path, study.run(path)


HALVED = "threads = 2\nnoise_sample = 0\nkv_mib = 4\n"


@pytest.fixture(scope="module")
def halves(study: Study, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, RunResult]]:
    """The stores and the outcomes of its two shards. They are not changed."""
    folder = tmp_path_factory.mktemp("halves")
    paths = [folder / f"{number}.sqlite" for number in (1, 2)]
    return [(path, study.run(path, HALVED, Shard(number, 2))) for number, path in enumerate(paths, 1)]


@pytest.fixture(scope="module")
def unmeasured(study: Study, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunResult]:
    """A run without a noise floor and with much room. Its store is copied, and not changed."""
    path = tmp_path_factory.mktemp("unmeasured") / "store.sqlite"
    return path, study.run(path, "noise_sample = 0\nkv_mib = 64\nthreads = 2\n")


@pytest.mark.parametrize("prompts", [1, 7, 32])
def test_the_size_of_batches_does_not_matter(
    study: Study, whole: tuple[Path, RunResult], tmp_path: Path, prompts: int
) -> None:
    engine = f"threads = 2\nnoise_sample = 0\nbatch_prompts = {prompts}\n"
    assert study.run(tmp_path / "s.sqlite", engine).results == whole[1].results


def test_the_order_of_batches_does_not_matter(
    study: Study, whole: tuple[Path, RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered = HfEngine.batches

    def shuffled(self: HfEngine, calls: Any) -> Any:
        batches = ordered(self, calls)
        random.Random(7).shuffle(batches)
        return batches

    monkeypatch.setattr(HfEngine, "batches", shuffled)
    engine = "threads = 2\nnoise_sample = 0\nbatch_prompts = 3\n"
    assert study.run(tmp_path / "s.sqlite", engine).results == whole[1].results


def tokens(done: RunResult) -> float:
    return sum(each.work["forward_tokens"] for each in done.spent)


def test_two_shards_merge_to_the_whole(
    study: Study, whole: tuple[Path, RunResult], halves: list[tuple[Path, RunResult]], tmp_path: Path
) -> None:
    stores, parts = [path for path, _ in halves], [part for _, part in halves]
    assert all(0 < part.executed < whole[1].executed for part in parts)
    assert not any(part.spent[0].least for part in parts)
    compiled, lock = study.compiled()
    joined = merge_stores(Plan(compiled.study), lock, tmp_path / "joined.sqlite", stores)
    assert joined.results == whole[1].results
    assert joined.executed == whole[1].executed == sum(part.executed for part in parts)
    assert tokens(joined) == sum(map(tokens, parts))
    with Store.open(tmp_path / "joined.sqlite") as store:
        assert first_break(store.events()) is None
        assert [event.kind for event in store.events()].count("merge") == 2


def test_stores_that_disagree_are_not_merged(
    study: Study, whole: tuple[Path, RunResult], tmp_path: Path
) -> None:
    other = tmp_path / "other.sqlite"
    other.write_bytes(whole[0].read_bytes())
    from sqlite_utils import Database

    with Database(other).conn as db:
        db.execute("UPDATE call SET answer_digest = 'x' WHERE id = (SELECT min(id) FROM call)")
    compiled, lock = study.compiled()
    with pytest.raises(IncompleteError, match="GC618"):
        merge_stores(Plan(compiled.study), lock, whole[0], [other])


def test_a_merge_that_is_refused_changes_nothing(
    study: Study, whole: tuple[Path, RunResult], halves: list[tuple[Path, RunResult]], tmp_path: Path
) -> None:
    """The first of two stores is fine, the second disagrees: neither is taken."""
    good, (bad, joined) = halves[0][0], (tmp_path / f"{name}.sqlite" for name in ("bad", "joined"))
    bad.write_bytes(whole[0].read_bytes())
    from sqlite_utils import Database

    with Store.open(good) as store:
        call = next(iter(dict(store.digests(whole[1].stamp))))
    with Database(bad).conn as db:
        db.execute("UPDATE call SET answer_digest = 'x' WHERE id = ?", [call])
    compiled, lock = study.compiled()
    with pytest.raises(IncompleteError, match="GC618"):
        merge_stores(Plan(compiled.study), lock, joined, [good, bad])
    with Store.open(joined) as store:
        assert store.progress(whole[1].stamp).answered == 0
        assert not store.events()


def test_answers_of_other_environments_are_merged_when_that_is_acknowledged(
    study: Study, whole: tuple[Path, RunResult], halves: list[tuple[Path, RunResult]], tmp_path: Path
) -> None:
    parts = [tmp_path / "1.sqlite", halves[1][0]]
    study.run(parts[0], HALVED.replace("threads = 2", "threads = 1"), Shard(1, 2))
    compiled, lock = study.compiled()
    joined = tmp_path / "joined.sqlite"
    with pytest.raises(IncompleteError, match=r"GC652 `qwen2` is answered in .*: threads 1 and 2"):
        merge_stores(Plan(compiled.study), lock, joined, parts)
    done = merge_stores(Plan(compiled.study), lock, joined, parts, acknowledged=True)
    assert done.executed == whole[1].executed
    with Store.open(joined) as store:
        noted = store.observed(done.stamp)
        assert [sentence.partition(" is ")[0] for sentence in noted[:2]] == ["`qwen2`", "`llama`"]
        assert {load.ran["threads"] for load in store.bodies_of(ModelLoaded)} == {1, 2}
    again = merge_stores(Plan(compiled.study), lock, joined, parts, acknowledged=True)
    assert again.executed == 0
    with Store.open(joined) as store:
        assert store.observed(done.stamp) == noted, "it is noted once"


class Stopped(Exception):
    pass


def test_a_run_that_was_stopped_takes_the_same_batches_up(
    study: Study, whole: tuple[Path, RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit: what is left in memory from the batch before does not enter a result."""
    compiled, lock = study.compiled()
    path, steps = tmp_path / "s.sqlite", iter(range(3))

    def stop(step: Any) -> None:
        if not step.doing and next(steps, None) is None:
            raise Stopped

    with pytest.raises(Stopped):
        departures = require_reconciled(lock, compiled.study, log_path(study.spec))
        run_study(compiled, lock, departures, path, stop)
    done = study.run(path)
    assert 0 < done.reused < whole[1].executed
    assert done.results == whole[1].results
    stamp = whole[1].stamp
    with Store.open(path) as resumed, Store.open(whole[0]) as uninterrupted:
        assert resumed.answers_digest(stamp) == uninterrupted.answers_digest(stamp)


def test_the_store_says_what_answers_took(whole: tuple[Path, RunResult]) -> None:
    path, done = whole
    with Store.open(path) as store:
        assert tuple(store.spent(done.stamp)) == done.spent
    assert len(done.spent) == 2
    for each in done.spent:
        assert 1 <= each.work["forward_tokens"] / each.least["forward_tokens"] <= 1.05
        assert 0 < each.most["kv_bytes"] <= 4 * 2**20
        assert each.calls == done.executed / 2
        assert each.seconds > 0


@pytest.mark.parametrize("kv_mib", [3, 5])
def test_keys_and_values_stay_within_the_bound(
    study: Study, whole: tuple[Path, RunResult], tmp_path: Path, kv_mib: int
) -> None:
    done = study.run(tmp_path / "s.sqlite", f"noise_sample = 0\nkv_mib = {kv_mib}\nthreads = 2\n")
    assert most(done) <= kv_mib * 2**20
    assert done.results == whole[1].results


def test_with_much_room_they_stay_within_it_too(
    whole: tuple[Path, RunResult], unmeasured: tuple[Path, RunResult]
) -> None:
    assert most(unmeasured[1]) <= 64 * 2**20
    assert unmeasured[1].results == whole[1].results


def most(done: RunResult) -> float:
    """The most bytes of keys and values that a model held."""
    return max(each.most["kv_bytes"] for each in done.spent)


def noise(path: Path, stamp: str) -> Iterator[dict[str, Any]]:
    with Store.open(path) as store:
        yield from (each.as_json() for each in store.bodies_of(NoiseMeasured, stamp))


def test_the_noise_floor_of_fp32_is_nil(whole: tuple[Path, RunResult]) -> None:
    found = list(noise(whole[0], whole[1].stamp))
    assert [each["precision"] for each in found] == ["fp32", "fp32"]
    for each in found:
        assert each["calls"] == 12 == each["texts"] + each["rankings"]
        assert each["texts_changed"] == each["outcomes_changed"] == 0
        assert (each["max_moved"] is None) is (each["rankings"] == 0), "drawn by stamp"
        assert (each["max_moved"] or 0) < 1e-4
        assert each["outcomes"] >= 12


def test_the_noise_floor_of_bf16_is_measured(tmp_path: Path) -> None:
    """Batch shape moves its logits, and a replay that returned what is stored would not show it."""
    reduced = Study(tmp_path / "study")
    text = reduced.spec.read_text().replace("[harness]", '[harness]\nprecision = "bf16"')
    reduced.spec.write_text(text)
    done = reduced.run(tmp_path / "s.sqlite", "threads = 2\nnoise_sample = 16\n")
    found = list(noise(tmp_path / "s.sqlite", done.stamp))
    assert [each["calls"] for each in found] == [16, 16]
    assert max(each["max_moved"] or 0 for each in found) > 1e-4
    again = reduced.run(tmp_path / "s.sqlite")
    assert again.executed == 0
    assert len(list(noise(tmp_path / "s.sqlite", done.stamp))) == 2, "it is measured once"


def test_a_noise_floor_that_a_stop_left_out_is_measured_when_the_run_is_taken_up(
    study: Study, unmeasured: tuple[Path, RunResult], tmp_path: Path
) -> None:
    done = unmeasured[1]
    shutil.copy(unmeasured[0], tmp_path / "s.sqlite")
    assert list(noise(tmp_path / "s.sqlite", done.stamp)) == []
    again = study.run(tmp_path / "s.sqlite", "threads = 2\nnoise_sample = 4\n")
    assert again.executed == 0
    assert [each["calls"] for each in noise(tmp_path / "s.sqlite", done.stamp)] == [4, 4]


def by_default(study: Study, path: Path, budget: str = "") -> RunResult:
    """The outcome of a run that leaves the noise floor as it is, under caps."""
    return study.run(path, f"threads = 2\nkv_mib = 64\n{budget}")


def test_by_default_the_noise_floor_takes_a_tenth_of_the_tokens(
    study: Study, whole: tuple[Path, RunResult], tmp_path: Path
) -> None:
    done = by_default(study, tmp_path / "s.sqlite")
    assert done.results == whole[1].results
    for each, noted in zip(done.spent, noise(tmp_path / "s.sqlite", done.stamp), strict=True):
        took = noted["work"]["forward_tokens"]
        assert dict(each.repeated) == {"forward_tokens": took}, "it is told"
        assert 0 < took <= each.work["forward_tokens"] / 10
        assert 1 <= noted["calls"] <= 8, "in fp32 few are enough"
        assert noted["outcomes_changed"] == 0


def test_the_noise_floor_is_left_out_where_the_caps_have_no_room(
    study: Study, whole: tuple[Path, RunResult], tmp_path: Path
) -> None:
    path, calls = tmp_path / "s.sqlite", whole[1].executed
    told: list[str] = []
    compiled, lock = study.compiled(f"threads = 2\n[budget]\ncalls = {calls}\n")
    departures = require_reconciled(lock, compiled.study, log_path(study.spec))
    done = run_study(compiled, lock, departures, path, lambda step: told.append(step.doing))
    assert (done.executed, done.results) == (calls, whole[1].results)
    assert list(noise(path, done.stamp)) == []
    assert sum("[budget] leaves no room" in each for each in told) == 2, "one for each model"
    again = by_default(study, path, "[budget]\ncalls = 6\n")
    measured = [each["calls"] for each in noise(path, done.stamp)]
    assert again.executed == 0
    assert 0 < sum(measured) <= 6, "as far as they have"


QWEN2, LLAMA = (["load qwen2", "close qwen2"], ["load llama", "close llama"])


@pytest.mark.parametrize(
    ("free", "expected"),
    [(0.1, [*LLAMA, *QWEN2, *LLAMA]), (0.9, [LLAMA[0], *QWEN2, LLAMA[1]])],
    ids=["little memory", "much memory"],
)
def test_a_model_stays_loaded_while_there_is_memory_for_another(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: float, expected: list[str]
) -> None:
    """The second model is loaded before the first answers, to be proved."""
    events: list[str] = []
    load, close = HfEngine._load, HfEngine.close

    def loaded(self: HfEngine) -> Any:
        if self._model is None:
            events.append(f"load {self._name}")
        return load(self)

    def closed(self: HfEngine) -> None:
        events.append(f"close {self._name}")
        close(self)

    monkeypatch.setattr(HfEngine, "_load", loaded)
    monkeypatch.setattr(HfEngine, "close", closed)
    monkeypatch.setattr(loading, "free_share", lambda device: free)
    study.run(tmp_path / "s.sqlite", HALVED, Shard(1, 2))
    assert events == expected


def test_stretches_and_their_shards_come_to_the_whole(
    study: Study, whole: tuple[Path, RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is laid out a few calls at a time is answered alike, and its shards are disjoint and complete."""
    monkeypatch.setattr(stages, "STRETCH", 30)
    engine = "threads = 2\nnoise_sample = 0\nbatch_prompts = 2\n"
    parts = [study.run(tmp_path / f"{n}.sqlite", engine, Shard(n, 2)) for n in (1, 2)]
    assert all(part.executed for part in parts)
    assert sum(part.executed for part in parts) == whole[1].executed
    compiled, lock = study.compiled()
    others = [tmp_path / f"{n}.sqlite" for n in (1, 2)]
    joined = merge_stores(Plan(compiled.study), lock, tmp_path / "joined.sqlite", others)
    assert joined.results == whole[1].results
