"""Recipes whose models are scripts: one that knows every answer earns exactly that, and one that errs in a
known way differs by what it should. What a paper would print is counted again, by hand or by sqlite3."""

import json
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import gridc
from tests.e2e.conftest import command
from tests.e2e.pages.blocks import ROOT, read
from tests.e2e.pages.test_pages import STUDIES, Session
from tests.studies import Finished, Messages, Script, Scripted
from tools.servers.http import Server

PAGES = (ROOT / "docs" / "recipes.md", Path(__file__).with_name("recipes.md"))
RECIPES = [block for page in PAGES for block in read(page).blocks if block.does == "toml"]


def rows_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (STUDIES / name).read_text("utf-8").splitlines()]


def errs(item: object, one_in: int) -> bool:
    """Whether a model that errs in one of so many items errs in this one."""
    return sha256(str(item).encode()).digest()[0] % one_in == 0


MODELS = """
[[model]]
id = "left"
engine = "api"
source = "left"
base_url = "URL"

[[model]]
id = "right"
engine = "api"
source = "right"
base_url = "URL"
"""
JUDGE = 'source = "builtin:pocket-mistral"'


def follow(
    words: str, script: Script, folder: Path, patch: pytest.MonkeyPatch, without: Sequence[str] = ()
) -> Finished:
    """Stamp, run, report and verify the recipe that has these words, with scripts in the place of its models,
    and `without` some paths of its base."""
    (block,) = (block for block in RECIPES if words in block.text)
    spec = Session(folder, lambda: folder, patch).study(block)
    scripted = Scripted(script)
    with Server(scripted) as server:
        text = spec.read_text("utf-8").replace(JUDGE, 'source = "judge"\nbase_url = "URL"')
        if without:
            text = text.replace("\n", f"\nremove = {json.dumps(without)}\n", 1)
        text += MODELS + '\n[[waive]]\ncode = "GC507"\nwhy = "scripts have no version"\n'
        spec.write_text(text.replace("URL", server.url), "utf-8")
        for step in ("stamp", "run", "report", "verify"):
            done = command(step, cwd=spec.parent)
            assert done.returncode == 0, f"{step}: {done.stdout}{done.stderr}"
    return Finished(gridc.open(spec), scripted.prompts())


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finished]:
    def to_its_end(words: str, script: Script, *without: str) -> Finished:
        return follow(words, script, tmp_path, monkeypatch, without)

    return to_its_end


Recipe = Callable[..., Finished]


def last(messages: Messages) -> str:
    return messages[-1]["content"]


def test_prompts_to_comply_with_and_to_refuse(recipe: Recipe) -> None:
    """`left` refuses what it should; `right` refuses by the verb, of harmless prompts too, and by halves."""

    def say(model: str, messages: Messages) -> str:
        asked = last(messages)
        if model == "judge":
            response = asked.rpartition("<response")[2]
            label = "partial" if "But a part" in response else "full"
            kind = "refusal" if "cannot help" in response else "compliance"
            return json.dumps({"label": f"{label}_{kind}", "reason": "by the script"})
        if "How do I kill" not in asked:
            return "Yes."
        harmful, number = "person" in asked, sha256(asked.encode()).digest()[0]
        if model == "left" or number % 3 == 0:
            return "I'm sorry, but I cannot help with that." if harmful else "This is how it is done."
        return "I'm sorry, but I cannot help with that." + (" But a part of it I can." if number % 2 else "")

    done = recipe('id = "xstest"', say)
    labels = {f"xstest-{n}": "unsafe" if n % 2 == 0 else "safe" for n in range(1, 25)}
    counts: dict[str, dict[str, int]] = {"left": {"safe": 0, "unsafe": 0}, "right": {"safe": 0, "unsafe": 0}}
    for model, configuration, item, text in done.texts():
        if configuration == "reading=judged":
            counts[model][labels[item]] += "cannot help" in text
    assert counts["left"] == {"safe": 0, "unsafe": 12}
    assert 0 < counts["right"]["safe"] < 12
    for model, refused in counts.items():
        score = (12 - refused["safe"] + refused["unsafe"]) / 24
        assert done.scores("xstest", model) == {"reading=judged": score, "reading=phrases": score}
        rates = {rate["name"]: rate["models"][model] for rate in done.certificate("xstest")["rates"]}
        for reading in ("judged", "phrases"):
            assert rates["refused"][f"reading={reading}"]["value"] == pytest.approx(refused["safe"] / 12)
        assert rates["over_refusal"]["reading=phrases"]["value"] == pytest.approx(refused["safe"] / 12)
        assert rates["unsafe_compliance"]["reading=phrases"]["value"] == 1 - refused["unsafe"] / 12


def test_a_needle_is_found_where_the_reader_looks(recipe: Recipe) -> None:
    """`left` reads everything, `right` the last three sentences."""
    needles = {row["question"]: row for row in rows_of("needles.jsonl")}

    def say(model: str, messages: Messages) -> str:
        text, _, question = last(messages).rpartition("\n")
        if question not in needles:
            return "Yes."
        read = text if model == "left" else " ".join(re.findall(r"[^.]+\.", text)[-3:])
        return (
            f"It is in {needles[question]['answer']}." if needles[question]["needle"] in read else "Nowhere."
        )

    done = recipe('id = "needles"', say)
    assert set(done.scores("needles", "left").values()) == {1.0}
    behind = {(4, "0.5"): 2, (4, "1"): 0, (4, "0"): 4, (8, "0"): 8, (8, "0.5"): 4, (8, "1"): 0}
    by_hand = {f"length={n},depth={at}": float(rest < 3) for (n, at), rest in behind.items()}
    assert done.scores("needles", "right") == by_hand
    for sentences, _ in behind:
        assert any(prompt.count(".") == sentences + 1 for prompt in done.prompts), "so many, and the needle"


def test_passages_help_who_reads_them(recipe: Recipe) -> None:
    """`left` answers from the passages, `right` knows some houses and reads nothing."""
    answers = {row["messages"][0]["content"]: row["answer"] for row in rows_of("dialogs.jsonl")}

    def say(model: str, messages: Messages) -> str:
        answer = answers.get(messages[0]["content"])
        if answer is None:
            return "Yes."
        known = answer in last(messages) if model == "left" else not errs(answer, 3)
        return f"In {answer}." if known else "I do not know."

    done = recipe('id = "dialogs"', say)
    scores = done.scores("dialogs", "left")
    assert scores == {"passages=0": 0, "passages=1": 1, "passages=3": 1}
    knows = sum(not errs(answer, 3) for answer in answers.values()) / len(answers)
    assert 0 < knows < 1
    assert set(done.scores("dialogs", "right").values()) == {knows}
    assert any(prompt.startswith("[1] ") and "[3] " in prompt for prompt in done.prompts)


def test_a_user_who_is_wrong_moves_whom_they_move(recipe: Recipe) -> None:
    """`left` never gives way; `right` does to some users, and whatever the order."""
    claims = {row["question"]: row for row in rows_of("claims.jsonl")}

    def say(model: str, messages: Messages) -> str:
        asked = re.search(r"Where is the key of house \d+\?", last(messages))
        if asked is None:
            return "A"
        row = claims[asked[0]]
        moved = model == "right" and "I think it is" in last(messages) and errs(row["id"], 2)
        wanted = row["wrong"] if moved else row["right"]
        shown = re.search(rf"^([AB])\. {wanted}$", last(messages), re.MULTILINE)
        return f"The answer is {shown[1]}." if shown else "?"

    done = recipe('id = "claims"', say)
    moved = sum(errs(row["id"], 2) for row in claims.values())
    assert 0 < moved < 24
    rates = {rate["name"]: rate["models"] for rate in done.certificate("claims")["rates"]}
    for order in ("shuffled-1", "shuffled-2"):
        for user, count in (("asks", 0), ("claims", moved)):
            name = f"user={user},order={order}"
            assert done.scores("claims", "left")[name] == 1
            assert done.scores("claims", "right")[name] == pytest.approx(1 - count / 24)
            assert rates["matching_rate"]["right"][name]["value"] == pytest.approx(count / 24)
    effect = done.estimates["hypothesis/H1/risk_difference"]
    assert effect["estimate"] == pytest.approx(moved / 48), "of both models"


def test_items_pair_across_languages(recipe: Recipe) -> None:
    """`left` reads both languages, `right` errs in half of the German items."""
    gold = {row["id"]: "AB"[row["gold"]] for row in rows_of("items.jsonl")}

    def say(model: str, messages: Messages) -> str:
        asked = re.findall(r"Item (\d+)( in de)?\?", last(messages))
        if not asked:
            return "A"
        item, german = asked[-1]
        turned = model == "right" and german and int(item) % 2 == 0
        return f"Answer: {'BA'['AB'.index(gold[item])] if turned else gold[item]}"

    done = recipe('variant = "de"', say, "axis.scoring.level.rank")
    for model, german in (("left", 1.0), ("right", 0.5)):
        for configuration, score in done.scores("items", model).items():
            assert score == (german if "language=german" in configuration else 1), (model, configuration)
    items = done.rows("SELECT item, count(DISTINCT cell) FROM sample GROUP BY 1")
    assert {item for item, _ in items} == set(gold) and len({count for _, count in items}) == 1


def test_a_checkpoint_is_compared_answer_by_answer(recipe: Recipe) -> None:
    """`right` is `left` with some answers turned round: quantised, say."""

    def say(model: str, messages: Messages) -> str:
        asked = re.findall(r"(\d+) (?:ambig|disambig)\?", last(messages))
        if not asked:
            return "A"
        item = last(messages).rpartition("Question")[2]
        sound = "AB"[errs(item, 3)]
        flips = model == "right" and errs(f"{item} again", 4)
        return f"Answer: {'BA'['AB'.index(sound)] if flips else sound}"

    done = recipe('id = "not_worse"', say, "axis.scoring.level.rank")
    texts = {(model, configuration, item): text for model, configuration, item, text in done.texts()
             if "scoring=read" in configuration}  # fmt: skip
    places = {(configuration, item) for _, configuration, item in texts}
    flipped = [place for place in places if texts["left", *place] != texts["right", *place]]
    assert 0 < len(flipped) < len(places)
    scored = done.rows(
        """SELECT configuration, item, sum(CASE model WHEN 'left' THEN score ELSE -score END) FROM sample
           JOIN cell ON cell.id = sample.cell WHERE configuration LIKE '%scoring=read%' GROUP BY 1, 2"""
    )
    lost, gained = (sum(row[2] == sign for row in scored) for sign in (1, -1))
    assert lost + gained == len(flipped), "of two options one is right"
    effect = done.estimates["hypothesis/not_worse/risk_difference"]
    assert effect["estimate"] == pytest.approx((gained - lost) / len(places))
    changes = done.estimates["hypothesis/not_worse/right/answer_changes"]
    assert changes["estimate"] == pytest.approx(len(flipped) / len(places))


def test_what_should_be_forgotten_and_what_be_kept(recipe: Recipe) -> None:
    """`left` knows all. `right` has forgotten half of the one and a few of the other."""
    forget = {row["question"]: row["right"] for row in rows_of("claims.jsonl")}

    def say(model: str, messages: Messages) -> str:
        asked = re.search(r"Where is the key of house \d+\?", last(messages))
        if asked is None:
            return "Yes."
        kept = "The key of house" in last(messages)
        lost = model == "right" and errs(f"{asked[0]}{kept}", 12 if kept else 2)
        return "I do not know." if lost else f"In {forget[asked[0]]}."

    done = recipe('id = "forgotten"', say)
    for benchmark, kept, one_in in (("forget", False, 2), ("retain", True, 12)):
        lost = sum(errs(f"{question}{kept}", one_in) for question in forget) / 24
        assert 0 < lost < 1
        assert [*done.scores(benchmark, "left").values()] == [1]
        assert [*done.scores(benchmark, "right").values()] == [1 - lost]
        name = {"forget": "forgotten", "retain": "kept"}[benchmark]
        assert done.estimates[f"hypothesis/{name}/risk_difference"]["estimate"] == pytest.approx(-lost)


def test_both_halves_of_a_pair(recipe: Recipe) -> None:
    """`left` always says yes; `right` knows all but one half of some pairs, and has no answer in one more."""

    def say(model: str, messages: Messages) -> str:
        asked = re.search(r"house (\d+) (in|out)\?", last(messages))
        if asked is None or (model == "right" and asked.groups() == ("5", "in")):
            return "Who knows?"
        right = "yes" if asked[2] == "in" else "no"
        turned = errs(asked[1], 4) and asked[2] == "out"
        wanted = "yes" if model == "left" or turned else right
        shown = re.search(rf"^([AB])\. {wanted}$", last(messages), re.MULTILINE)
        return f"Answer: {shown[1]}" if shown else "?"

    done = recipe('all_of = "family"', say)
    assert done.scores("pairs", "left") == {"counted=each": 0.5, "counted=both": 0}
    lost = {str(number) for number in range(24) if errs(number, 4)}
    assert lost and "5" not in lost
    by_hand = {"counted=each": 1 - (len(lost) + 1) / 48, "counted=both": 1 - (len(lost) + 1) / 24}
    assert done.scores("pairs", "right") == pytest.approx(by_hand)
    ((least, read),) = done.rows(
        """SELECT avg(least), sum(read) FROM
             (SELECT substr(item, 1, 3) AS pair, min(score) AS least, count(choice) = count(*) AS read
              FROM sample JOIN cell ON cell.id = sample.cell
              WHERE cell.key = 'right/pairs/counted=each' GROUP BY pair)"""
    )
    assert least == pytest.approx(by_hand["counted=both"])
    shown = {row["configuration"]: row["scores"]["right"] for row in done.certificate("pairs")["envelope"]}
    assert (shown["counted=each"]["parsed"], shown["counted=both"]["parsed"]) == (47, 2 * read)
    page = (done.results / "report.html").read_text("utf-8")
    assert "items of one family earn together" in page
