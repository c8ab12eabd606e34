"""The specs of docs/designs.md, and those of designs.md here, on servers whose answers are known.

Each runs to `verify`, and what it states is counted again with another program."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridc
from gridc.diagnostics.errors import SpecError
from tests import studies
from tests.e2e.pages.blocks import ROOT, read
from tests.studies import Finished, Messages, Script, Scripted
from tools.servers.batches import BatchServer
from tools.servers.http import Asked, Reply, Server

BLOCKS = [*read(ROOT / "docs" / "designs.md").blocks, *read(Path(__file__).with_name("designs.md")).blocks]
SPECS = [block.text for block in BLOCKS if block.does == "design"]
ADDRESS = "http://localhost:8000/v1"
MOST_LINES = 45


def spec_of(study: str) -> str:
    (spec,) = (spec for spec in SPECS if f'study = {{ id = "{study}"' in spec)
    return spec


def program_of(study: str) -> str:
    """The functions that stand below a spec, before the next one."""
    at = next(place for place, block in enumerate(BLOCKS) if f'study = {{ id = "{study}"' in block.text)
    return next((block.text for block in BLOCKS[at + 1 : at + 2] if block.does == "scorers"), "")


Design = Callable[..., Finished]


@pytest.fixture
def design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Design:
    def to_its_end(
        study: str, say: Script, server: type[Scripted] = Scripted, **rows: Sequence[Any]
    ) -> Finished:
        program = program_of(study)
        monkeypatch.setenv("GRIDC_ALLOW", f"sha256:{sha256(program.encode()).hexdigest()}")
        scripted = server(say)
        files = {f"{name}_jsonl": lines for name, lines in rows.items()}
        with Server(scripted) as served:
            spec = spec_of(study).replace(ADDRESS, served.url)
            # A script draws nothing, so that its server seems to ignore temperatures.
            spec = spec.replace("waive = [", 'waive = [{ code = "GC529", why = "a script" }, ')
            opened = studies.written(tmp_path, spec, scorers_py=program, **files)
            assert studies.carried_out(opened).study.verify().complete
            bundle = opened.export("bundle", tmp_path / "bundle")
        assert gridc.open(bundle).verify().complete
        return Finished(opened, scripted.prompts())

    return to_its_end


@pytest.mark.parametrize("spec", SPECS)
def test_a_design_is_short(spec: str) -> None:
    assert len(spec.splitlines()) <= MOST_LINES


def stated(done: Finished, name: str, configuration: str = "the only one") -> dict[str, Any]:
    """What the certificate prints of a statistic, by model; estimates.json says the same."""
    document = json.loads((done.results / "certificate.json").read_text("utf-8"))
    (row,) = (row for row in document["statistics"] if row["id"] == name)
    values = {model: cells[configuration] for model, cells in row["models"].items()}
    for model, cell in values.items():
        listed = done.estimates[f"statistic/{name}/{model}/{configuration}"]
        assert (listed["estimate"], listed["interval"]) == (cell["value"], cell["interval"])
        assert cell["interval"] is None or cell["interval"][0] <= cell["value"] <= cell["interval"][1]
    return values


def value(cells: Mapping[str, Any], model: str) -> Any:
    return pytest.approx(cells[model]["value"], abs=1e-9)


def numbered(messages: Messages, word: str) -> int:
    """The number behind a word of what was asked; 0 where a trial asks something else."""
    found = re.search(rf"{word} (\d+)", messages[-1]["content"])
    return int(found[1]) if found else 0


def chance(*parts: object) -> float:
    """A number from 0 to 1 that is the same in every run."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:6], "big") / 2**48


def test_a_guard(design: Design) -> None:
    from sklearn.metrics import f1_score, matthews_corrcoef, precision_score, recall_score

    rows = [{"id": f"t{n}", "text": f"Text {n}.", "label": ("safe", "unsafe")[n % 3 == 0]} for n in range(90)]

    def says(model: str, n: int) -> str:
        errs = chance(model, n) < {"strict": 0.15, "lenient": 0.3}[model]
        return ("safe", "unsafe")[(n % 3 == 0) is not errs]

    done = design("guards", lambda model, messages: says(model, numbered(messages, "Text")), texts=rows)
    truth = [n % 3 == 0 for n in range(90)]
    for model in ("strict", "lenient"):
        said = [says(model, n) == "unsafe" for n in range(90)]
        for name, score in (
            ("precision", precision_score), ("recall", recall_score), ("f1", f1_score),
            ("matthews", matthews_corrcoef),
        ):  # fmt: skip
            assert value(stated(done, name), model) == score(truth, said), name
    worst = min(cell["value"] for cell in stated(done, "f1").values())
    document = json.loads((done.results / "certificate.json").read_text("utf-8"))
    (test,) = document["falsifications"]
    assert test["value"] == worst < 0.6 and test["by"] == "limits"
    assert test["result"] == "open" and test["limit"] < 0.6, "90 texts leave it open"
    assert "f1 %" in "\n".join(studies_terminal(done))
    table = done.study.statistics().to_pylist()
    assert len(table) == 8 and {row["value"] for row in table if row["id"] == "f1"} == {
        cell["value"] for cell in stated(done, "f1").values()
    }


def test_scores_of_the_spec_do_not_say_what_a_response_says(tmp_path: Path) -> None:
    spec = spec_of("guards").replace("[harness]", "[harness]\nscores = { right = 0, other = 1 }")
    rows = [{"id": f"t{n}", "text": f"Text {n}.", "label": ("safe", "unsafe")[n % 2]} for n in range(4)]
    with pytest.raises(SpecError) as refused:
        studies.written(tmp_path, spec, texts_jsonl=rows).validate()
    assert {each.code for each in refused.value.diagnostics} == {"GC105"}
    assert all("predicted" in (each.help or "") for each in refused.value.diagnostics)


def studies_terminal(done: Finished) -> list[str]:
    """What the terminal shows of the scores."""
    from gridc.cli.terminal import score_table

    return list(score_table(done.study.scoreboard()))


def test_a_guard_that_says_how_sure_it_is(design: Design) -> None:
    from sklearn.metrics import brier_score_loss, roc_auc_score

    rows = [{"id": f"t{n}", "text": f"Text {n}.", "label": ("safe", "unsafe")[n % 3 == 0]} for n in range(90)]

    def sure(model: str, n: int) -> int:
        shift = {"sharp": 30, "vague": 8}[model] * (1 if n % 3 == 0 else -1)
        return max(0, min(100, round(50 + shift + 50 * (chance(model, n) - 0.5))))

    def says(model: str, n: int) -> str:
        return "I cannot say." if model == "vague" and n % 10 == 9 else str(sure(model, n))

    done = design("sure", lambda model, messages: says(model, numbered(messages, "Text")), texts=rows)
    for model in ("sharp", "vague"):
        answered = [n for n in range(90) if says(model, n) != "I cannot say."]
        truth = np.array([n % 3 == 0 for n in answered])
        likely = np.array([sure(model, n) / 100 for n in answered])
        right, confidence = (likely > 0.5) == truth, np.maximum(likely, 1 - likely)
        assert value(stated(done, "auroc"), model) == roc_auc_score(truth, likely)
        assert value(stated(done, "brier"), model) == brier_score_loss(right, confidence)
        bins = np.digitize(confidence, np.arange(0.1, 1.0, 0.1) + 1e-9)
        error = sum(
            abs(confidence[bins == place].mean() - right[bins == place].mean()) * (bins == place).mean()
            for place in set(bins.tolist())
        )
        calibration = stated(done, "calibration_error")
        assert value(calibration, model) == error
        assert calibration[model]["interval"] is None and "chance alone" in calibration[model]["note"]
        cells = [stated(done, name)[model] for name in ("auroc", "brier", "calibration_error")]
        assert {(cell["responses"], cell["asked"]) for cell in cells} == {(len(answered), 90)}
    assert len(answered) == 81
    listed = done.estimates["statistic/brier/vague/the only one"]
    assert "of 81 of 90 answers" in listed["method"] and listed["n"] == 81
    assert "of 81 of 90 answers" in "\n".join(studies_terminal(done))
    page = (done.results / "report.html").read_text("utf-8")
    assert ">81 of 90<" in page and "(of 81 of 90 answers)" in page and "No interval: chance alone" in page


def test_function_calls(design: Design) -> None:
    rows = [
        {"id": f"c{n}", "ask": f"Ask {n}.", "functions": [{"name": "add"}, {"name": "mul"}],
         "call": {"name": ("add", "mul")[n % 2], "arguments": {"a": n, "b": 2}}}
        for n in range(40)
    ]  # fmt: skip

    def say(model: str, messages: Messages) -> str:
        n = numbered(messages, "Ask")
        name = ("add", "mul")[(n + (model == "loose" and n % 5 == 0)) % 2]
        arguments = {"b": 2, "a": n + (model == "loose" and n % 4 == 0)}
        return f"Sure: {json.dumps({'name': name, 'arguments': arguments})}"

    done = design("calls", say, calls=rows)
    assert value(stated(done, "both"), "neat") == 1
    assert value(stated(done, "both"), "loose") == sum(n % 5 > 0 and n % 4 > 0 for n in range(40)) / 40
    for name, share in (("name", 0.8), ("arguments", 0.75)):
        listed = done.estimates[f"rate/{name}/loose/calls/the only one"]
        assert listed["estimate"] == share and listed["interval"][0] < share < listed["interval"][1]
        assert any(f"{name} %" in line for line in studies_terminal(done))


def test_the_shortest_study(design: Design) -> None:
    from collections import Counter

    assert len(spec_of("majority").strip().splitlines()) <= 25
    rows = [
        {"question": f"What is {n} + 1?", "answer": f"{n} + 1 = {n + 1}\n#### {n + 1}"} for n in range(30)
    ]
    asked: Counter[tuple[str, int]] = Counter()

    def answer(model: str, n: int, turn: int) -> int:
        return n + 1 if model == "large" or chance(n, turn) < 0.2 + 0.03 * n else n

    def say(model: str, messages: Messages) -> str:
        found = re.search(r"is (\d+) \+", messages[-1]["content"])
        if found is None:
            return "0"
        n = int(found[1])
        asked[model, n] += 1
        return f"I add one. The number is {answer(model, n, asked[model, n] - 1)}"

    done = design("majority", say, test=rows)
    votes: dict[str, list[float]] = {}
    for item, score in done.rows(
        """SELECT item, score FROM sample JOIN cell ON cell.id = sample.cell WHERE model = 'small'"""
    ):
        votes.setdefault(item, []).append(score)
    assert {len(each) for each in votes.values()} == {5}
    majority = [sum(each) > 2 for each in votes.values()]
    assert 0 < sum(majority) < 30
    (small,), (large,) = (done.scores("gsm8k", model).values() for model in ("small", "large"))
    assert small == pytest.approx(sum(majority) / 30) and large == 1


def test_several_benchmarks_in_one_number(design: Design) -> None:
    names = ("law", "math", "tales")
    rows = {
        name: [{"id": f"{name}{n}", "question": f"{name} {n}?", "answer": f"w{n}"} for n in range(30)]
        for name in names
    }

    def right(model: str, name: str, n: int) -> bool:
        skill = {"ant": (0.9, 0.5, 0.7), "bee": (0.6, 0.9, 0.5), "cat": (0.4, 0.3, 0.8)}[model]
        return chance(model, name, n) < skill[names.index(name)]

    def say(model: str, messages: Messages) -> str:
        found = re.search(r"(law|math|tales) (\d+)\?", messages[-1]["content"])
        if found is None:
            return "w0"
        return f"w{found[2]}" if right(model, found[1], int(found[2])) else "no"

    done = design("rollup", say, **rows)
    means = {
        model: [np.mean([right(model, name, n) for n in range(30)]) for name in names]
        for model in ("ant", "bee", "cat")
    }
    for model, of_model in means.items():
        assert value(stated(done, "mean_score"), model) == np.mean(of_model)
        beaten = [
            [1.0 if mine > other[place] else 0.5 if mine == other[place] else 0.0
             for name, other in means.items() if name != model]
            for place, mine in enumerate(of_model)
        ]  # fmt: skip
        wins = stated(done, "wins")
        assert value(wins, model) == np.mean(beaten)
        low, high = wins[model]["interval"]
        assert low <= np.mean(beaten) <= high and {round(6 * end, 6) % 1 for end in (low, high)} == {0.0}


class Calling(Scripted):
    """A server that has what the script says as calls in its protocol, where it is JSON."""

    async def __call__(self, asked: Asked) -> Reply:
        body, reply = asked.document, await super().__call__(asked)
        (choice,) = (document := json.loads(reply.body))["choices"]
        if "tools" in body:
            assert body["tools"] == [{"type": "function", "function": each} for each in FUNCTIONS]
            assert list(body["tools"][0]["function"]["parameters"]["properties"]) == ["b", "a"]
            if choice["message"]["content"].startswith("["):
                calls = json.loads(choice["message"]["content"])
                choice["message"] |= {"content": None, "tool_calls": [
                    {"id": f"call_{n}", "type": "function", "function": call} for n, call in enumerate(calls)
                ]}  # fmt: skip
                choice["finish_reason"] = "tool_calls"
        return Reply.json(document)


class CallingInBatches(Scripted):
    """The same, asked in batches."""

    @cached_property
    def batches(self) -> BatchServer:
        return BatchServer(Calling(self.script), delay=0)

    async def __call__(self, asked: Asked) -> Reply:
        if asked.path.endswith("/batches") and asked.method == "POST":
            self.asked.append(("", [{"content": "a batch"}]))
        return await self.batches(asked)


FUNCTIONS = [
    {"name": name, "description": name, "parameters": {"type": "object", "properties": {"b": {}, "a": {}}}}
    for name in ("mul", "add")
]


@pytest.mark.parametrize("server", [Calling, CallingInBatches])
def test_function_calls_by_the_protocol(
    server: type[Scripted], design: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    if server is CallingInBatches:
        batched = spec_of("native").replace("[[benchmark]]", "batch = true\n\n[[benchmark]]", 1)
        monkeypatch.setattr(f"{__name__}.spec_of", lambda study: batched)
    rows = [
        {"id": f"c{n}", "ask": f"Ask {n}.", "functions": FUNCTIONS,
         "call": None if n % 10 == 9 else {"name": ("add", "mul")[n % 2], "arguments": {"a": n, "b": "2"}}}
        for n in range(40)
    ]  # fmt: skip

    def say(model: str, messages: Messages) -> str:
        n = numbered(messages, "Ask")
        if n % 10 == 9:
            return json.dumps({"content": "", "calls": []}) if model == "neat" else "I need none."
        arguments = json.dumps({"b": "2", "a": n})
        if model == "loose" and n % 4 == 0:
            arguments = arguments[:-1]  # no JSON
        if model == "loose" and n % 5 == 1:
            call = {"name": ("add", "mul")[n % 2], "arguments": {"b": "2", "a": n}}
            return json.dumps({"content": "", "calls": [call]})  # in words
        call = {"name": ("add", "mul")[n % 2], "arguments": arguments}
        return json.dumps([call] * (1 + (model == "loose" and n % 7 == 3)))

    done = design("native", say, server, calls=rows)
    right = [n for n in range(40) if n % 10 == 9 or not (n % 4 == 0 or n % 5 == 1 or n % 7 == 3)]
    assert done.scores("calls", "neat") == {"the only one": 1}
    assert done.scores("calls", "loose") == {"the only one": len(right) / 40}
    none = sum(n % 10 == 9 or n % 5 == 1 for n in range(40))
    assert done.estimates["rate/calls/loose/calls/the only one"]["estimate"] == (40 - none) / 40
    texts = {(model, item): json.loads(text) for model, _, item, text in done.texts()}
    assert texts["loose", "c4"] == {
        "content": "",
        "calls": [{"name": "add", "arguments": '{"b": "2", "a": 4'}],
    }
    assert texts["loose", "c9"] == {"content": "I need none.", "calls": []}
    finishes = done.rows("SELECT DISTINCT json_extract(answer, '$.finish') FROM call ORDER BY 1")
    assert finishes == [("stop",)], "a call of a function is a whole answer"
    assert ("a batch" in done.prompts) is (server is CallingInBatches)


def claims(response: str) -> list[str]:
    return re.findall(r"Fact \d+\.", response)


K = '[[statistic]]\nid = "s"\nkind = "pass_at"\n'
WRONG_ATTEMPTS = {
    "without k": (K, "GC105", "`pass_at` needs `k`"),
    "more than there are": (K + "k = 6\n", "GC105", "k = 6, and an item has 5 answers"),
    "another k than its name": (
        '[[statistic]]\nid = "pass_at_3"\nk = 2\n', "GC105", "called after another kind or `k`"),
    "k of another kind": ('[[statistic]]\nid = "spread_within"\nk = 2\n', "GC105", "does not read `k`"),
    "parts of a point": (
        K + 'k = 2\noutcome = "half"\n[[outcome]]\nid = "half"\nbenchmark = "items"\n'
        "scores = { right = 0.5, other = 0 }\n",
        "GC105", "`half` has parts of a point"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_ATTEMPTS)
def test_attempts_that_cannot_be_counted_are_refused(wrong: str, tmp_path: Path) -> None:
    more, code, words = WRONG_ATTEMPTS[wrong]
    spec = studies.head("s", studies.pocket(one="llama"), "descriptive")
    spec += studies.benchmark("items", 'id = "id", query = "q", references = ["a"]')
    spec += '[harness]\nmethod = "match"\nmatch = { as = "number" }\nprompt = "{{ question }}"\n'
    study = studies.written(
        tmp_path, f"{spec}temperature = 0.7\nreplicates = 5\n{more}", [{"id": "1", "q": "?", "a": "1"}]
    )
    with pytest.raises(SpecError) as refused:
        study.validate()
    assert any(
        each.code == code and words in each.message and each.help for each in refused.value.diagnostics
    )


def test_claims_that_a_passage_supports(design: Design) -> None:
    rows = [
        {"id": f"p{n}", "ask": f"Ask {n}?", "passage": " ".join(f"Fact {n * 10 + k}." for k in range(4))}
        for n in range(100, 140)
    ]

    def says(model: str, n: int) -> str:
        if model == "chatty" and n % 8 == 0:
            return "I do not know."
        count = 2 if model == "careful" else 3 + n % 3
        return " ".join(f"Fact {n * 10 + k + 4 * (chance(model, n, k) < 0.3)}." for k in range(count))

    def say(model: str, messages: Messages) -> str:
        text = messages[0]["content"]
        if model != "judge":
            return says(model, numbered(messages, "Ask"))
        passage, _, response = text.partition("<response")
        listed = [
            {"claim": claim, "label": "supported" if claim in passage else "unsupported"}
            for claim in claims(response)
        ]
        if len(messages) == 1 and "Ask 105?" in passage:
            return f"{len(listed)} of 4 are supported."  # no list: it is asked again
        return json.dumps({"claims": listed, "reason": "it says so"})

    done = design("faithful", say, asks=rows)
    for model in ("careful", "chatty"):
        shares = []
        for row in rows:
            made = claims(says(model, int(row["id"][1:])))
            shares.append(sum(claim in row["passage"] for claim in made) / len(made) if made else 0)
        assert 0.3 < np.mean(shares) < 0.95
        assert done.scores("asks", model)["the only one"] == pytest.approx(np.mean(shares), abs=5e-5)
        silent = sum(not claims(says(model, n)) for n in range(100, 140))
        assert done.estimates[f"rate/no_claim/{model}/asks/the only one"]["estimate"] == silent / 40
    assert silent == 5
    again = done.rows("SELECT failure FROM judgement WHERE attempt = 1")
    assert again == [(None,), (None,)]
    texts = " ".join(says(model, n) for model in ("careful", "chatty") for n in range(100, 140))
    every = claims(texts)
    held = sum(int(claim[5:-1]) % 10 < 4 for claim in every)
    page = (done.results / "report.html").read_text("utf-8")
    assert f"{held:,} of {len(every):,} claims supported, 5 responses without a claim" in page
    assert "Rates beside the scores" in page


def test_needles(design: Design) -> None:
    rows = [
        {"id": f"n{n}", "question": f"Which are the numbers of case {n}?",
         "answers": [f"{n}{k}" for k in (1, 2, 3)], "hay": [f"Straw {k}." for k in range(8)]}
        for n in range(100, 130)
    ]  # fmt: skip

    def found(model: str, n: int, long: bool) -> int:
        return 3 if model == "keen" else (n % 3 if long else 2)

    def say(model: str, messages: Messages) -> str:
        n = numbered(messages, "case")
        return ", ".join(f"{n}{k + 1}" for k in range(found(model, n, "Straw 7" in messages[-1]["content"])))

    done = design("needles", say, needles=rows)
    (short, long) = done.scores("needles", "dull").values()
    assert short == pytest.approx(2 / 3, abs=1e-3) and long == pytest.approx(1 / 3, abs=1e-3)
    assert stated(done, "over_lengths")["dull"]["value"] == pytest.approx(0.5, abs=1e-3)
    assert stated(done, "over_lengths")["keen"]["value"] == 1


def test_a_temperature_sweep(design: Design) -> None:
    rows = [{"id": f"s{n}", "question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(40)]
    asked: dict[tuple[str, str], int] = {}

    def say(model: str, messages: Messages) -> str:
        text = messages[-1]["content"]
        found = re.search(r"is (\d+) \+", text)
        if found is None:
            return str(len(asked))  # a server that draws
        n = int(found[1])
        turn = asked[model, text] = asked.get((model, text), -1) + 1
        asked[model, text] = turn
        return str(n + 1 if model == "calm" or chance(n, turn) < n / 40 else -1)

    done = design("sweep", say, sums=rows)
    for level in ("0.3", "0.7", "1"):
        where = f"temperature={level}"
        scores = done.rows(
            """SELECT cell.model, item, score FROM sample JOIN cell ON cell.id = sample.cell
               WHERE cell.configuration = ? ORDER BY item, replicate""",
            [where],
        )
        for model in ("calm", "wild"):
            table = np.array([score for name, _, score in scores if name == model], float).reshape(40, 5)
            within = table.var(axis=1, ddof=1).mean()
            between = table.mean(axis=1).var(ddof=1) - within / 5
            assert value(stated(done, "spread_within", where), model) == np.sqrt(within)
            assert value(stated(done, "spread_between", where), model) == np.sqrt(max(between, 0))
    assert stated(done, "spread_within", "temperature=1")["wild"]["value"] > 0.2
    shown = [line.split() for line in studies_terminal(done) if re.match("wild +temperature=", line)]
    assert [line[1] for line in shown] == [f"temperature={level}" for level in ("0.3", "0.7", "1")]


def test_an_arena(design: Design) -> None:
    import choix

    models = ("ant", "bee", "cat")
    rows = [{"id": f"a{n}", "ask": f"Ask {n}."} for n in range(40)]
    skill = {"ant": 0.8, "bee": 0.5, "cat": 0.3}

    def quality(model: str, n: int) -> float:
        return skill[model] + chance(model, n) - 0.5

    def say(model: str, messages: Messages) -> str:
        text = messages[-1]["content"]
        if model != "judge":
            return f"{model} says: Ask {numbered(messages, 'Ask')} is fine."
        shown = re.findall(r"(ant|bee|cat) says: Ask (\d+)", text)
        if len(shown) < 2:
            return '{"label": "tie"}'
        (one, n), (other, _) = shown[-2:]
        better = quality(one, int(n)) > quality(other, int(n))
        return json.dumps({"label": "A" if better else "B"})

    done = design("arena", say, asks=rows)
    games = []
    for n in range(40):
        for one in models:
            for other in models:
                if one != other:
                    won = quality(one, n) > quality(other, n)
                    games.append((models.index(one if won else other), models.index(other if won else one)))
    likeliest = choix.opt_pairwise(3, games)
    found = [cell["value"] for cell in stated(done, "strength").values()]
    assert found == pytest.approx(likeliest - likeliest.mean(), abs=1e-5)


def test_translations(design: Design) -> None:
    import sacrebleu

    words = [
        "the",
        "a",
        "cat",
        "dog",
        "sees",
        "runs",
        "over",
        "under",
        "tree",
        "house",
        "red",
        "big",
        "old",
        "very",
        "often",
    ]

    def line(n: int) -> str:
        return " ".join(words[int(chance(n, k) * len(words))] for k in range(9))

    def translated(model: str, n: int) -> str:
        every = {"close": 7, "free": 3}[model]
        return " ".join("thing" if k % every == n % every else word for k, word in enumerate(line(n).split()))

    rows = [{"id": f"l{n}", "german": f"Zeile {n}.", "english": line(n)} for n in range(40)]
    done = design(
        "translate", lambda model, messages: translated(model, numbered(messages, "Zeile")), lines=rows
    )
    references = [[line(n) for n in range(40)]]
    for model in ("close", "free"):
        texts = [translated(model, n) for n in range(40)]
        chrf, bleu = sacrebleu.corpus_chrf(texts, references), sacrebleu.corpus_bleu(texts, references)
        assert value(stated(done, "chrf"), model) == chrf.score / 100
        assert value(stated(done, "bleu"), model) == bleu.score / 100
