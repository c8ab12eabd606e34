"""The studies on which keys are tried: their files, and what there is to see of them."""

import asyncio
import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, astuple, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

import gridc
from gridc.compiler.compile import Compiled
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.prices import paid_prices
from gridc.compiler.lock.deviations import reconcile
from gridc.compiler.lock.lock import Lock, make_lock
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight import falsifiability
from gridc.compiler.preflight.consent import consent_sentences
from gridc.compiler.preflight.oracle_hazards import trial_hazards
from gridc.diagnostics.errors import GridcError
from gridc.reports import files
from gridc.reports.findings.findings import all_findings
from gridc.reports.findings.scores import cell_scores
from gridc.runtime.blinding import JUDGING, blind, judged, order_seed
from gridc.runtime.engines import open_engine
from gridc.runtime.engines.hf.kept_proofs import ProofKeeper
from gridc.runtime.engines.protocol import (
    Admit,
    Answer,
    AnsweredBatch,
    Batch,
    Call,
    Engine,
    PendingBatch,
    Spending,
)
from gridc.runtime.engines.vllm.engine import arguments
from gridc.runtime.run import run_study
from gridc.runtime.stages import Open
from gridc.runtime.store.store import Store
from gridc.schema.spec import Spec
from tools.servers.batches import BatchServer
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

HERE = Path(__file__).parent
BASES = HERE / "bases"
SHIPPED = Path(gridc.__file__).parent / "builtin" / "benchmarks"
SAID: Mapping[str, Any] = {"text": "Answer: A", "tokens": [1], "finish": "stop", "near_ties": 0}
"""What scaffolds are told at every step, to see what they ask next."""
SCORERS = """
def length(item, response):
    return len(response) % 8 / 8 if response else None


def letters(item, response):
    return response.count("A") / 8 if response else None


def both(item, response):
    return {"length": length(item, response), "letters": letters(item, response)} if response else None
"""
OPTIONS = ("red", "green", "nobody knows")


def talk(asked: str) -> list[dict[str, str]]:
    """A short conversation that ends with what is asked."""
    said = [("user", "Hello."), ("assistant", "Hello."), ("user", asked)]
    return [{"role": role, "content": text} for role, text in said]


def write_files(folder: Path) -> None:
    """The files that the studies name, and the studies themselves."""
    for base in BASES.glob("*.toml"):
        shutil.copy(base, folder)
    rows: list[dict[str, Any]] = []
    for number in range(48):
        turned = OPTIONS[number % 3 :] + OPTIONS[: number % 3]
        rows.append({
            "ask": f"Which colour has thing {number}?", "about": f"Thing {number} lies here.",
            **dict(zip("abc", turned, strict=True)),
            **{letter: f"{letter}) {text}" for letter, text in zip("ABC", turned, strict=True)},
            "openly": f"Colour of {number}?",
            "right": number % 2, "other": number % 3, "unsure": turned.index(OPTIONS[2]),
            "loaded": turned.index(OPTIONS[0]), "free": "red", "free too": "reddish",
            "name": f"thing-{number}", "also": f"object-{number}", "kin": f"kin-{number // 2}",
            "clan": f"clan-{number // 4}", "pattern": f"pattern-{number // 6}",
            "design": f"design-{number // 8}", "topic": ("warm", "cold")[number % 2],
            "field": ("near", "far")[number // 2 % 2], "hue": ("light", "dark")[number // 3 % 2],
            "should": ("comply", "refuse")[number % 3 == 0], "must": ("comply", "refuse")[number % 2],
            "one": "1", "working": "1 + 1 #### B", "parts": ["words", "pictures"],
            "side": "xyz"[number % 3], "sides": [*"xyz"],
            "said": [f"What is {number}?", "And then?"], "spoken": [f"Why {number}?", "And when?"],
            "told": talk(f"What is {number}?"), "heard": talk("Well?"),
            "tools": [{"name": "find", "results": {"*": "x"}}],
            "others": [{"name": "buy", "results": {"*": "x"}}],
            "turned": [*"zyx"], "brief": f"Be brief about {number}.", "briefer": "Be briefer.",
            "chatted": f"Person: Hello.\nOther: Hm.\nMachine: Yes?\nPerson: What is {number}?",
            "overheard": f"Person: Hello.\nMachine: Yes?\nPerson: Who is {number}?",
            "briefed": f"Rules: Be kind.\nPerson: What is {number}?",
            "meeting": [
                {"who": who, "by": by, "says": f"{who} on {number}", "means": f"{by} on {number}"}
                for who, by in (("Person", "Rules"), ("Machine", "Person"), ("Person", "Machine"))
            ],
        })  # fmt: skip
    reworded = ({**row, "ask": f"In other words: {row['ask']}"} for row in rows)
    (folder / "reworded.jsonl").write_text("".join(json.dumps(row) + "\n" for row in reworded), "utf-8")
    (folder / "both.csv").write_text(
        "id,prompt,type,label,category\n"
        + "".join(f"{n},How {n}?,kind {n % 3},safe,topic {n % 2}\n" for n in range(20)),
        "utf-8",
    )
    uneven = ({**row, "hue": ("light", "dark")[number % 6 == 0]} for number, row in enumerate(rows))
    (folder / "uneven.jsonl").write_text("".join(json.dumps(row) + "\n" for row in uneven), "utf-8")
    (folder / "fewer.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:40]), "utf-8")
    broken = {**rows[0], "ask": "", "name": "broken", "also": "broken too"}
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "broken.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, broken]), "utf-8")
    numbered = [f"column {place}" for place in range(1, 5)]
    (folder / "numbered.csv").write_text(
        "\n".join(",".join(line) for line in [numbered, *([row["ask"], *OPTIONS] for row in rows)]), "utf-8"
    )
    nested = json.dumps([{"easy": rows[:24], "hard": rows[24:]}])
    (folder / "nested.json").write_text(nested, "utf-8")
    shutil.copy(SHIPPED / "pocket_bbq.jsonl", folder / "again.jsonl")
    from_one = ({**row, "right": row["right"] + 1} for row in rows)
    (folder / "from_one.jsonl").write_text("".join(json.dumps(row) + "\n" for row in from_one), "utf-8")
    (folder / "scorers.py").write_text(SCORERS, "utf-8")
    near = folder / "models" / "near"
    shutil.copytree(SHIPPED.parent / "models" / "pocket-qwen2", near)
    template = near / "chat_template.jinja"
    template.write_text("{{ opening }}" + template.read_text("utf-8"), "utf-8")
    (folder / "levels.csv").write_text(
        "id,text,other,who,words,tier,origin,around,of\n"
        + "".join(
            f"{name},{name}: {{{{ question }}}} {{{{ word }}}},{name}; {{{{ question }}}},be-{name},{name},"
            f"stress,by {name},{{{{ prompt }}}} {name},{of}\n"
            for name, of in (("first", "rows"), ("second", ""))
        ),
        "utf-8",
    )
    (folder / "more.csv").write_text(
        (folder / "levels.csv").read_text("utf-8")
        + "third,{{ question }} {{ word }}!,?,be-third,third,core,b,{{ prompt }},\n",
        "utf-8",
    )
    (folder / "pilot.txt").write_text("thing-0\nthing-1\nthing-2\n", "utf-8")


def asked(compiled: Compiled) -> Any:
    """What a run would execute: the plan's numbers, what hypotheses can come to, what leaves the machine, and
    every call but for the digest of its model, which holds whatever the spec says of it."""
    plan = Plan(compiled.study)
    manifest = plan.manifest(prices=paid_prices(compiled.spec, None)).as_json()
    calls = [
        [step, request.prompt.as_json(), request.kind, request.precision, request.parameters]
        for cell in plan.cells() for sample in plan.samples(cell)
        for step, request in sample.trace(lambda call: SAID).calls
    ]  # fmt: skip
    del manifest["stamp"]
    return {
        **manifest,
        **falsifiability.manifest(plan),
        "leaves": consent_sentences(compiled.spec),
        "calls": calls,
    }


class Scripted:
    """An engine that answers by the digest of what it is asked: a letter, a refusal, or nothing to read; a
    judge's reply where it judges."""

    replicable = False

    def __init__(self, name: str, identity: ModelIdentity, precision: str, spec: Spec) -> None:
        self.name = name

    def effective(self) -> dict[str, Any]:
        return {"model": self.name, "precision": "scripted"}

    def batches(self, calls: Sequence[Call]) -> list[Batch]:
        return [Batch(tuple(call.id for call in calls), len(calls), calls)] if calls else []

    def answers(self, tasks: Sequence[PendingBatch], admit: Admit) -> Iterator[AnsweredBatch]:
        for task in tasks:
            if not admit(task):
                return
            answers = [self._answer(call) for call in task.batch.work if call.id in task.unanswered]
            yield AnsweredBatch(task, answers, Spending(0.0, {"calls": len(answers)}))

    def _answer(self, call: Call) -> Answer:
        asked = [
            self.name,
            call.prompt.messages,
            call.parameters.get("item"),
            call.parameters.get("replicate"),
        ]
        draw = int(sha256(json.dumps(asked).encode()).hexdigest()[:12], 16)
        if call.kind == "loglikelihood":
            among = len(call.parameters["continuations"])
            values = [-1.0 - (draw >> place) % 2 for place in range(among)]
            content: dict[str, Any] = {
                "loglikelihoods": values,
                "tokens": [2] * among,
                "greedy": [False] * among,
            }
        else:
            text = self._text(call.prompt.messages[0][1], call.prompt.messages[-1][1], draw)
            content = {"text": text, "tokens": [1], "finish": "stop", "near_ties": 0}
        return Answer(call.id, content, {}, {"prompt_tokens": 9, "completion_tokens": 9}, 0.0)

    def _text(self, opening: str, prompt: str, draw: int) -> str:
        claims = re.search(r'\{"claim": .*?"label": one of (.*?)\}', prompt)
        if claims:
            labels = json.loads(f"[{claims[1]}]")
            listed = [{"claim": "so", "label": labels[(draw >> at) % len(labels)]} for at in range(draw % 13)]
            return json.dumps({"claims": listed, "reason": "so"})
        bracketed = re.search(r"\[\[X\]\], where X is one of (.*)", prompt)
        if bracketed:
            labels = re.findall(r'"([^"]+)"', bracketed[1])
            return f"So.\n[[{labels[draw % len(labels)]}]]"
        labels = re.findall(
            r'"([^"]+)"', (re.findall(r'\{"label": one of (.*), "reason"', prompt) or [""])[-1]
        )
        scale = re.search(r'"label": a whole number from (\d+) to (\d+)', prompt)
        if scale:
            labels = [str(number) for number in range(int(scale[1]), int(scale[2]) + 1)]
        if labels:
            sure = {"confidence": 1 + draw % 3} if "confidence" in labels else {}
            chosen = [label for label in labels if label != "confidence"]
            if self.name == "judge" and int(sha256(opening.encode()).hexdigest()[:8], 16) % 11 == 0:
                return "I cannot say."
            return json.dumps({"label": chosen[draw // 11 % len(chosen)], **sure, "reason": "so"})
        if draw % 10 == 0:
            return "I'm sorry, I can't help with that."
        if draw % 10 == 1:
            return "Well."
        return f"2 words.\nAnswer: {'AAABBC'[draw // 10 % 6]}"

    def least(self, answered: Any) -> Mapping[str, float]:
        return {"calls": float(sum(1 for _ in answered))}

    def rest(self) -> None:
        pass

    def close(self) -> None:
        pass


_RUNS: dict[str, tuple[Lock, Path]] = {}


def run_of(compiled: Compiled) -> tuple[Lock, Path]:
    """A run of the study by scripted engines: its lock and its store."""
    folder = compiled.source.path.parent
    stamp = Plan(compiled.study).study_digest
    if stamp not in _RUNS:
        lock, store = make_lock(compiled.study, folder), folder / f"{stamp}.sqlite"
        compiled.study.scorers.allow([file.pair for file in compiled.study.scorers.files.values()])
        run_study(
            compiled,
            lock,
            reconcile(lock, compiled.study, folder / "no.toml"),
            store,
            lambda step: None,
            open_engine=Scripted,
            go_on=True,
        )
        _RUNS[stamp] = lock, store
    return _RUNS[stamp]


def stored(compiled: Compiled) -> Any:
    """What a run stores: the outcome of every sample."""
    plan = Plan(compiled.study)
    with Store.open(run_of(compiled)[1]) as store:
        found = store.outcomes(plan.study_digest)
        counts = [[str(column) for column in astuple(outcomes)] for outcomes in found.values()]
        return [counts, [str(row.score) for row in cell_scores(plan, found)]]


def documented(compiled: Compiled) -> Any:
    """What a report says."""
    lock, path = run_of(compiled)
    with Store.open(path) as store:
        return files.file_texts(all_findings(compiled, lock, store))


def sealed(compiled: Compiled) -> Any:
    """In which order responses are judged."""
    plan = Plan(compiled.study)
    with Store.open(run_of(compiled)[1]) as store:
        order = blind("0" * 64, JUDGING, order_seed(plan), "0" * 64, list(judged(plan, store))).responses
        return [(response.item, response.text) for response in order]


def opened(compiled: Compiled) -> Any:
    """What the engine of each model, and of each judge, is opened with."""
    spec, study = compiled.spec, compiled.study
    return {
        model.id: [
            model.engine, model.own_precision, asdict({**study.models, **study.judges}[model.id]),
            arguments("", Path(), "", "", spec.engine) if model.engine == "vllm" else [],
        ]
        for model in spec.asked_models
    }  # fmt: skip


@dataclass
class Provider:
    """A server that fails for good at one thing, and is slow at another when it is first asked. `seen` counts
    requests by what they say, `most` is the most that were open at once."""

    seen: Counter[str] = field(default_factory=Counter)
    open: int = 0
    most: int = 0

    async def __call__(self, asked: Asked) -> Reply:
        words = json.dumps([asked.path, asked.document], sort_keys=True)
        self.seen[words] += 1
        self.open += 1
        self.most = max(self.most, self.open)
        await asyncio.sleep(0.5 if "thing 26?" in words and self.seen[words] == 1 else 0.02)
        self.open -= 1
        if "thing 25?" in words:
            return Reply.json({"error": {"message": "no"}}, 500, **{"retry-after": "0.01"})
        said = completion(asked.document, "Answer: A", "stop")
        said["usage"]["prompt_tokens_details"] = {"cached_tokens": 1}
        return Reply.json(said)


PROVIDER = "127.0.0.1:1"
"""In place of the provider's address."""


def noting(sizes: list[list[int]], address: str) -> Open:
    """What opens gridc's own engines: the provider is at `address`, and the sizes of batches are noted."""

    def opens(name: str, identity: ModelIdentity, precision: str, spec: Spec) -> Engine:
        base = identity.base_url and identity.base_url.replace(PROVIDER, address)
        engine = open_engine(name, replace(identity, base_url=base), precision, spec)
        divide = engine.batches

        def noted(calls: Sequence[Call]) -> list[Batch]:
            batches = divide(calls)
            sizes.append([len(batch.calls) for batch in batches])
            return batches

        engine.batches = noted  # type: ignore[method-assign]
        return engine

    return opens


def sent(compiled: Compiled) -> Any:
    """What a run by gridc's own engines sends to a server, what local models are given, in which batches and
    by how many threads, what it costs and how it ends; and whether an earlier proof is looked for, of which
    there is none."""
    provider, sizes, ended = Provider(), list[list[int]](), ""
    with (
        Server(BatchServer(provider)) as server,
        patch.object(ProofKeeper, "recall", return_value=None) as proof,
    ):
        address, folder = f"127.0.0.1:{server.port}", compiled.source.path.parent
        lock, path = make_lock(compiled.study, folder), folder / f"{server.port}.sqlite"
        departures = reconcile(lock, compiled.study, folder / "no.toml")
        try:
            run_study(
                compiled, lock, departures, path, lambda step: None,
                open_engine=noting(sizes, address), go_on=True,
            )  # fmt: skip
        except GridcError as error:
            ended = str([each.code for each in error.diagnostics])
    with closing(sqlite3.connect(path)) as store:
        given = store.execute("SELECT sent FROM call WHERE sent IS NOT NULL").fetchall()
        loaded = store.execute("SELECT body FROM event WHERE kind = 'load'").fetchall()
    with Store.open(path) as finished:
        paid = finished.paid_usd()
    path.unlink()
    shown = sorted(str(row).replace(address, PROVIDER) for row in given)
    devices = sorted(str(json.loads(body).get("device")) for (body,) in loaded)
    seen = sorted(provider.seen.items()), provider.most > 1
    return [seen, sizes, ended, shown, devices, paid, torch.get_num_threads(), proof.called]


def tried(compiled: Compiled) -> Any:
    """What trials of the instrument show."""
    scorers = compiled.study.scorers
    scorers.allow([file.pair for file in scorers.files.values()])
    return [(hazard.code, hazard.problem) for hazard in trial_hazards(Plan(compiled.study))]


SEE: Mapping[str, Callable[[Compiled], Any]] = {
    "asked": asked, "opened": opened, "stored": stored, "sealed": sealed, "documented": documented,
    "sent": sent, "tried": tried,
}  # fmt: skip
"""By the word of an example: what is seen of a study."""
