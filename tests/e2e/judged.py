"""A small study with judges: two models behind one server, judges behind another, all in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.judging import JudgingState
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.labels import JudgingFinding, find_judging
from gridc.runtime import blinding
from gridc.runtime.store.store import Store
from tools.servers.faults import FaultServer
from tools.servers.http import Server
from tools.servers.judges import JudgeServer

ITEMS = 8

SPEC = """
gridcard = 1

[study]
id = "judged"
title = "Two models behind an address, judged"
purpose = "descriptive"

[[model]]
id = "ant"
engine = "api"
source = "ant-2026-01-01"
base_url = "{candidates}"
{price}

[[model]]
id = "bee"
engine = "api"
source = "bee-2026-01-01"
base_url = "{candidates}"
{price}

[[benchmark]]
id = "colours"
loader = "truthfulqa_mc1"
source = "builtin:pocket_truthfulqa.json"
direction = "{direction}"
sample = {{ n = {items}, seed = 1 }}
option_order = "shuffled:1"

[harness]
max_tokens = 16

[[axis]]
id = "frame"
level = [
  {{ id = "plain", tier = "core", provenance = "ours", prompt = "{{{{ question }}}}" }},
  {{ id = "please", tier = "core", provenance = "ours", prompt = "Please answer.\\n{{{{ question }}}}" }},
]

[[axis]]
id = "scoring"
level = [
  {{ id = "rule", tier = "core", provenance = "ours", method = "extract" }},
  {{ id = "judge", tier = "core", provenance = "ours", method = "judge", scores = {scores} }},
{levels}
]

{judges}

[engine]
attempts = 2
timeout_s = 20
"""
JUDGE = """
[judge]
source = "judge-2026-01-01"
base_url = "{judge}"
{price}
rubric = '''
Is it the right answer?
Right: {{{{ right }}}}'''
labels = ["true", "untrue", "unclear"]
{more}
"""
PRICE = 'price = { input = 1000, output = 2000, as_of = "2026-01-01" }'


@dataclass
class Judging:
    """A study in a folder, with the judges that serve it."""

    folder: Path
    judge: JudgeServer
    second: JudgeServer
    candidates: FaultServer
    urls: dict[str, str] = field(default_factory=dict)

    def write(self, more: str = "", judges: str = JUDGE, **stated: Any) -> gridc.OpenStudy:
        """The study with its [judge], to which there is `more`, or with other `judges`."""
        values = {
            "items": ITEMS,
            "price": PRICE,
            "direction": "higher_is_better",
            "scores": "{ true = 1, untrue = 0, unclear = 0 }",
            "levels": "",
        } | stated
        more = more.replace(
            "SECOND", f'source = "second-2026-01-01", base_url = "{self.urls["second"]}", {PRICE}'
        )
        self.folder.mkdir(exist_ok=True)
        spec = self.folder / "gridcard.toml"
        judges = judges.format(more=more, **self.urls, **values)
        spec.write_text(SPEC.format(judges=judges, **self.urls, **values))
        return gridc.open(spec)

    @contextmanager
    def store(self) -> Iterator[Store]:
        with Store.open(self.folder / "results" / "judged" / "store.sqlite") as store:
            yield store

    def rows(self, query: str) -> list[Any]:
        with self.store() as store:
            return store._db.execute(query).fetchall()

    def finding(self) -> JudgingFinding:
        """What reports say of the only judge."""
        (only,) = self.findings()
        return only

    def findings(self) -> tuple[JudgingFinding, ...]:
        """What reports say of every judge."""
        with self.store() as store:
            plan = Plan(compile_spec(self.folder / "gridcard.toml").study)
            return find_judging(plan, store, blinding.judging_state(plan, store))

    def judged(self) -> JudgingState:
        """What the judges came to, by the replies in the store."""
        with self.store() as store:
            found = blinding.judging_state(Plan(compile_spec(self.folder / "gridcard.toml").study), store)
        assert found is not None
        return found


@contextmanager
def serving(folder: Path, shares: dict[str, float] | None = None, **how: Any) -> Iterator[Judging]:
    """The servers of a study: sound candidates, a first judge with these misdeeds, a sound second one."""
    made = Judging(folder, JudgeServer(shares or {}, **how), JudgeServer(), FaultServer(delay=0.0))
    with Server(made.candidates) as candidates, Server(made.judge) as judge, Server(made.second) as second:
        made.urls = {"candidates": candidates.url, "judge": judge.url, "second": second.url}
        yield made
