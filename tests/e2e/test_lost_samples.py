"""A study of which some repetitions have no answer: refused by the server for good, or not asked yet."""

import json
from collections import Counter
from pathlib import Path

import pytest

import gridc
from gridc.diagnostics.errors import GridcError
from tests.studies import Finished, axis, behind, benchmark, head, written
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

ITEMS, TIMES = 24, 3
FIELDS = 'id = "id", query = "q", options = ["a", "b", "c"], gold = "gold"'


def rows() -> list[dict[str, object]]:
    return [{"id": f"q{n}", "q": f"Question {n}?", "a": f"plane {n}", "b": f"chisel {n}", "c": f"mallet {n}",
             "gold": n % 3} for n in range(ITEMS)]  # fmt: skip


class Refusing:
    """A model that is right on two of three repetitions of an item; where it is `lossy`, the server refuses
    to answer the third one, which would be wrong."""

    def __init__(self, lossy: bool) -> None:
        self.lossy, self.seen = lossy, Counter[str]()

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        prompt = body["messages"][-1]["content"]
        if "Question " not in prompt:  # a probe of what the server can do: a temperature changes answers
            self.seen["probes"] += body.get("temperature", 0) > 0
            return Reply.json(completion(body, f"{self.seen['probes']}", "stop"))
        self.seen[prompt] += 1
        number = int(prompt.rpartition("Question ")[2].partition("?")[0])
        wrong = self.seen[prompt] % TIMES == 0
        if wrong and self.lossy:
            return Reply.json({"error": {"message": "this is not answered"}}, 400)
        return Reply.json(completion(body, "ABC"[(number + wrong) % 3], "stop"))


def spec_of(url: str) -> str:
    text = head("lost", behind(url, "said", version="-2026-01-01"))
    text += f'harness = {{ method = "extract", temperature = 0.7, replicates = {TIMES} }}\n'
    text += benchmark("facts", FIELDS, 'option_order = "file"')
    return text + axis("frame", {"plain": 'prompt = "{{ question }}"'})


def asked(folder: Path, lossy: bool) -> Finished:
    with Server(Refusing(lossy)) as server:
        study = written(folder, spec_of(server.url), rows())
        study.stamp()
        study.run()
        study.report()
    return Finished(study)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Finished]:
    folder = tmp_path_factory.mktemp("lost")
    return asked(folder / "whole", False), asked(folder / "lossy", True)


def test_what_the_server_refused_counts_as_wrong_in_every_document(pair: tuple[Finished, Finished]) -> None:
    """Two of three answers are right with and without the third."""
    for done in pair:
        ((score, right, of),) = done.rows("SELECT avg(score), sum(score), count(*) FROM sample")
        assert (round(score, 9), right, of) == (round(2 / 3, 9), 2 * ITEMS, TIMES * ITEMS)
        (row,) = [row for rows in done.certificate()["envelope"] for row in rows["scores"].values()]
        assert (row["correct"], row["trials"], row["scored"]) == (2 * ITEMS, TIMES * ITEMS, TIMES * ITEMS)
    page = (pair[1].results / "report.html").read_text("utf-8")
    assert "24 of 72" in page, "calls that failed are said"


def test_a_comparison_counts_them_against_either_claim(pair: tuple[Finished, Finished]) -> None:
    whole, lossy = (done.study.store.parent for done in pair)
    (row,) = gridc.compare(whole, lossy, margin=10).comparison.benchmarks
    assert row.states_b.failed == ITEMS and row.score is not None
    assert (round(row.score.b, 6), round(row.score.b_bounds[1], 6)) == (round(200 / 3, 6), 100.0)
    assert gridc.compare(whole, lossy, margin=10).verdict == "INCONCLUSIVE"


def test_a_run_that_was_stopped_has_no_score_and_is_no_go(
    pair: tuple[Finished, Finished], tmp_path: Path
) -> None:
    """Its budget ends it in the middle of the repetitions."""
    with Server(Refusing(False)) as server:
        study = written(tmp_path, spec_of(server.url) + f"\n[budget]\ncalls = {ITEMS * 2}\n", rows())
        study.stamp()
        with pytest.raises(GridcError):
            study.run()
        study.report()
    done = Finished(study)
    (row,) = [row for rows in done.certificate()["envelope"] for row in rows["scores"].values()]
    assert row["interval"] is None and 0 < row["scored"] < row["trials"] == TIMES * ITEMS
    found = gridc.compare(pair[0].study.store.parent, study.store.parent, margin=10)
    (compared,) = found.comparison.benchmarks
    assert compared.states_b.unscored == row["trials"] - row["scored"]
    assert found.verdict == "INCONCLUSIVE"
    assert "is not finished" in json.dumps(found.comparison.warnings)
