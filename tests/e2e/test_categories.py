"""The macro mean of one benchmark's categories: against numpy, and against what lm_eval makes of a group."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from gridc.compiler.compile import compile_spec
from gridc.diagnostics.errors import SpecError
from tests import studies
from tests.e2e.conftest import command
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

SIZES = {"anatomy": 24, "law": 60, "virology": 36}
FIELDS = 'id = "id", query = "question", references = ["answer"], category = "member"'
STATISTIC = """
[harness]
method = "match"
match = { as = "number" }
prompt = "{{ question }}"

[[statistic]]
id = "by_member"
kind = "macro_mean"
by = "category"

[[statistic]]
id = "of_all"
kind = "macro_mean"
"""
ROWS = [
    {
        "id": f"{member}-{n:02}",
        "question": f"{member}: what is {n} plus 1?",
        "answer": str(n + 1),
        "member": member,
    }
    for member, size in SIZES.items()
    for n in range(size)
]


async def answers(asked: Asked) -> Reply:
    """`strong` is right on three of four items of law and two of three of the others, `weak` on fewer."""
    body = asked.document
    member, _, question = body["messages"][-1]["content"].partition(":")
    number = int(question.split()[2]) if question else 0
    every = {"law": 4, "anatomy": 3}.get(member, 3) - ("weak" in body["model"])
    right = number % every != 0
    return Reply.json(completion(body, str(number + 1 if right else 0), "stop"))


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> studies.Finished:
    folder = tmp_path_factory.mktemp("grouped")
    with Server(answers) as server:
        models = studies.behind(server.url, "strong", "weak", version="-2026-01-01")
        spec = studies.head("grouped", models) + studies.benchmark("group", FIELDS) + STATISTIC
        return studies.carried_out(studies.written(folder, spec, ROWS))


def means_of(done: studies.Finished, model: str) -> dict[str, list[float]]:
    """What each item earned, by member, from the stored texts alone."""
    rows = {row["id"]: row for row in ROWS}
    found: dict[str, list[float]] = defaultdict(list)
    for name, _, item, text in done.texts():
        if name == model:
            found[rows[item]["member"]].append(float(text == rows[item]["answer"]))
    assert {member: len(points) for member, points in found.items()} == SIZES
    return found


def test_it_is_the_mean_of_the_members_means(grouped: studies.Finished) -> None:
    """As lm_eval aggregates a group where `weight_by_size` is false; true is the score."""
    certificate = json.loads((grouped.results / "certificate.json").read_text("utf-8"))
    by_member, of_all = certificate["statistics"]
    assert by_member["what"] == "mean over the benchmark's categories of their means"
    for model in ("strong", "weak"):
        points = means_of(grouped, model)
        (macro,), (micro,) = (each["models"][model].values() for each in (by_member, of_all))
        assert macro["value"] == pytest.approx(np.mean([np.mean(own) for own in points.values()]), abs=1e-9)
        assert micro["value"] == pytest.approx(np.concatenate(list(points.values())).mean(), abs=1e-9)
        low, high = macro["interval"]
        within = sum(np.var(own) / len(own) for own in points.values()) / len(points) ** 2
        assert low < macro["value"] < high
        assert 1.9 < (high - low) / 2 / np.sqrt(within) < 2.5, "members are fixed, and their items sampled"


def test_it_is_verified(grouped: studies.Finished) -> None:
    for arguments in (("verify",), ("export", "bundle", "--to", "bundle"), ("verify", "bundle")):
        done = command(*arguments, cwd=grouped.folder)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("fields", "keys", "words", "help"),
    [
        (FIELDS.rpartition(",")[0], "", "has no category", "`fields.category` names its column"),
        (FIELDS, 'benchmark = ["group", "other"]', "categories of one benchmark", 'benchmark = "group"'),
        (FIELDS, 'positive = { label = "x" }', "does not read `positive`", "leave `positive` out"),
    ],
)
def test_what_has_no_categories_is_refused(
    fields: str, keys: str, words: str, help: str, tmp_path: Path
) -> None:
    several = "" if "other" not in keys else studies.benchmark("other", FIELDS)
    spec = studies.head("grouped", studies.pocket(one="llama", two="qwen2"))
    spec += studies.benchmark("group", fields) + several
    spec += STATISTIC.replace('by = "category"\n', f'by = "category"\n{keys}\n')
    with pytest.raises(SpecError) as refused:
        compile_spec(studies.written(tmp_path, spec, ROWS).spec)
    found = [each for each in refused.value.diagnostics if words in each.message]
    assert found and help in str(found[0].help), refused.value.diagnostics


def test_other_kinds_do_not_read_it(tmp_path: Path) -> None:
    spec = studies.head("grouped", studies.pocket(one="llama", two="qwen2"))
    spec += studies.benchmark("group", FIELDS) + STATISTIC.replace('"macro_mean"\nby', '"win_rate"\nby')
    with pytest.raises(SpecError, match="`win_rate` does not read `by`"):
        compile_spec(studies.written(tmp_path, spec, ROWS).spec)
