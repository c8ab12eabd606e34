"""A study as Every Eval Ever 0.3 has evaluations: one file for each model in each configuration, and one row
for each answer beside it.

What the format has no place for stands among its free details under names of gridc's own, which the reader of
logs knows; docs/sharing.md lists what is lost.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from gridc import __version__
from gridc.compiler.compile import Compiled
from gridc.compiler.inputs.logs.records import AXIS, DESCRIPTION, OWN
from gridc.compiler.instrument.item import Item
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.reports.comparison.run import prompt_text
from gridc.reports.exchange import new_folder
from gridc.reports.exchange.recorded_study import described_run
from gridc.reports.findings.scores import CellScore, cell_scores, item_outcomes
from gridc.runtime.store.store import Store
from gridc.schema.models import Model
from gridc.statistics.envelope import Direction

VERSION = "0.3.0"


def export(compiled: Compiled, lock: Lock, results: Path, target: Path) -> Path:
    """Write the files of a study into a new folder, which appears whole or not at all.

    Raises `UsageError` (GC000) when the target exists, `StoreError` when there is no store."""
    plan = Plan(compiled.study)
    with new_folder(target) as draft, Store.open(results / "store.sqlite") as store:
        store.require(plan.study_digest)
        groups: defaultdict[tuple[str, str], list[CellScore]] = defaultdict(list)
        for row in cell_scores(plan, item_outcomes(plan.cells(), store, plan.study_digest)):
            if row.scored:
                groups[row.cell.model, row.cell.configuration].append(row)
        for rows in groups.values():
            _ExportedEvaluation(plan, lock, store, rows).write(draft)
        for name, data in described_run(compiled, lock, store).items():
            (draft / DESCRIPTION / name).parent.mkdir(parents=True, exist_ok=True)
            (draft / DESCRIPTION / name).write_bytes(data)
    return target


@dataclass(frozen=True)
class _ExportedEvaluation:
    """One model in one configuration on every benchmark of which it has an answer."""

    plan: Plan
    lock: Lock
    store: Store
    rows: list[CellScore]

    @cached_property
    def id(self) -> str:
        cell = self.rows[0].cell
        return f"{self.plan.study.spec.study.id}/{cell.model}/{cell.configuration}/{self.lock.stamp[:12]}"

    @cached_property
    def model(self) -> Model:
        return next(model for model in self.plan.study.spec.model if model.id == self.rows[0].cell.model)

    @cached_property
    def model_id(self) -> str:
        """`developer/name`, by the hub's or the provider's name where no other model of the study has the
        same; else by the study's own."""
        source = self.model.source.removeprefix("hf:")
        developer, slash, name = source.partition("/")
        if ":" in source or not slash:
            return f"{source.partition(':')[0] if ':' in source else 'unknown'}/{self.model.id}"
        alone = sum(other.source == self.model.source for other in self.plan.study.spec.model) == 1
        return f"{developer}/{name if alone else self.model.id}"

    def write(self, folder: Path) -> None:
        identity = UUID(bytes=sha256(self.id.encode()).digest()[:16], version=4)
        developer, _, name = self.model_id.partition("/")
        parts = ["data", *map(_path_part, (self.plan.study.spec.study.id, developer, name)), str(identity)]
        base = folder.joinpath(*parts)
        base.parent.mkdir(parents=True, exist_ok=True)
        digest, count = sha256(), 0
        with base.with_name(f"{identity}_samples.jsonl").open("wb") as file:
            for answer in self._answers():
                line = json.dumps(answer, ensure_ascii=False).encode() + b"\n"
                file.write(line)
                digest.update(line)
                count += 1
        document = {
            "schema_version": VERSION,
            "evaluation_id": self.id,
            "retrieved_timestamp": str(int(datetime.fromisoformat(self.lock.created).timestamp())),
            "source_metadata": {
                "source_name": f"gridc study {self.plan.study.spec.study.id}",
                "source_type": "evaluation_run",
                "source_organization_name": "not stated",
                "evaluator_relationship": "other",
                "additional_details": {"stamp": self.lock.stamp},
            },
            "eval_library": {"name": "gridc", "version": __version__},
            "model_info": {
                "name": self.model.id,
                "id": self.model_id,
                "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
            },
            "evaluation_results": [self._result(row) for row in self.rows],
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": f"{'/'.join(parts)}_samples.jsonl",
                "hash_algorithm": "sha256",
                "checksum": digest.hexdigest(),
                "total_rows": count,
            },
        }
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        base.with_name(f"{identity}.json").write_text(text, "utf-8")

    def _result(self, row: CellScore) -> dict[str, Any]:
        cell, setting = row.cell, row.cell.setting
        benchmark = next(one for one in self.plan.study.spec.benchmark if one.id == cell.benchmark)
        uncertainty: dict[str, Any] = {"num_samples": row.scored}
        if row.standard_error is not None:
            method = "over items, robust to the dependence of items of one unit"
            uncertainty["standard_error"] = {"value": row.standard_error, "method": method}
        details = {f"{AXIS}{axis}": level for axis, level in cell.levels.items()}
        for key in ("method", "precision", "shots", "chat_template", "aggregate"):
            details[f"{OWN}{key}"] = str(getattr(setting, key))
        decoding = {"temperature": setting.temperature, "top_p": setting.top_p}
        if setting.max_tokens is not None:
            decoding["max_tokens"] = setting.max_tokens
        return {
            "evaluation_name": cell.benchmark,
            "evaluation_result_id": cell.key,
            "source_data": {
                "dataset_name": cell.benchmark,
                "source_type": "other",
                "additional_details": {"source": benchmark.source},
            },
            "metric_config": {
                "metric_name": "score",
                "lower_is_better": Direction.of(benchmark.direction).lower,
                "score_type": "continuous",
                "min_score": 0,
                "max_score": 1,
                "additional_details": {"direction": str(benchmark.direction)},
            },
            "score_details": {
                "score": row.correct / (row.scored * row.scale),
                "details": {f"{OWN}planned": str(row.trials)},
                "uncertainty": uncertainty,
            },
            "generation_config": {
                "generation_args": {} if setting.ranks else decoding,
                "additional_details": details,
            },
        }

    def _answers(self) -> Iterator[dict[str, Any]]:
        """Of every sample that ended. What failed has an error, and the score that the format asks for."""
        stamp = self.plan.study_digest
        for row in self.rows:
            cell, setting = row.cell, row.cell.setting
            items = self.plan.study.items[cell.benchmark]
            units = items.units
            asked = {item.id: _question(item) for item in items.asked(None, setting.items)}
            options = {
                item.id: item.options
                for item in items.asked(setting.option_order, setting.items, setting.variant)
            }
            prompts: dict[str, str | None] = {}
            for sample, (_, _, state, _), (finish, usage) in zip(
                self.store.sample_rows(stamp, cell.key),
                self.store.ended_samples(stamp, cell.key),
                self.store.last_calls(stamp, cell.key),
                strict=True,
            ):
                item, replicate, choice, score, evidence, calls, text = sample
                if score is None:
                    continue
                if item not in prompts:
                    content, _ = self.store.first_texts(stamp, cell.key, item)
                    prompts = {item: None if content is None else prompt_text(content)}
                if text is None and choice is not None and choice < len(options[item]):
                    text = options[item][choice]
                question = asked[item]
                failed = state == "failed"
                yield {
                    "schema_version": VERSION,
                    "evaluation_id": self.id,
                    "model_id": self.model_id,
                    "evaluation_name": cell.benchmark,
                    "evaluation_result_id": cell.key,
                    "sample_id": item if setting.replicates == 1 else f"{item}#{replicate}",
                    "sample_hash": sha256(
                        "".join([question["raw"], *question["reference"]]).encode()
                    ).hexdigest(),
                    "interaction_type": "single_turn",
                    "input": {**question, "formatted": prompts[item]},
                    "output": {"raw": [] if text is None or failed else [text]},
                    "answer_attribution": [],
                    **_token_usage(usage),
                    "evaluation": {"score": score / setting.scale, "is_correct": score == setting.scale},
                    "error": "no answer" if failed else None,
                    "metadata": {
                        f"{OWN}item": item,
                        f"{OWN}unit": units[item],
                        f"{OWN}replicate": str(replicate),
                        f"{OWN}state": state,
                        f"{OWN}cell": cell.key,
                        f"{OWN}choice": "" if choice is None else str(choice),
                        f"{OWN}evidence": evidence or "",
                        f"{OWN}call": (calls or "").split(" ")[-1],
                        # A response that its limit cut may be read all the same, which `state` does not say.
                        f"{OWN}finish": finish or "",
                        **{f"{OWN}{key}": str(usage[key]) for key in COUNTED if key in usage},
                    },
                }


COUNTED = ("completion_tokens", "reasoning_tokens", "prompt_tokens")
"""What the last call of an answer counts, under the names of the store."""


def _token_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """The counts in the format's own form, which has all of them or none."""
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if read is None or written is None:
        return {}
    thought = {"reasoning_tokens": usage["reasoning_tokens"]} if "reasoning_tokens" in usage else {}
    counts = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return {"token_usage": {**counts, **thought}}


def _question(item: Item) -> Mapping[str, Any]:
    """As the data have it, whatever the order of options or the wording that a configuration shows."""
    raw = "\n".join(text for text in (item.context, item.query) if text) or "\n".join(item.options)
    right = [item.options[place] for place in sorted(item.right)] or list(item.references)
    reference = right if item.expected is None else [item.expected]
    return {"raw": raw, "reference": reference, "choices": list(item.options) or None}


def _path_part(text: str) -> str:
    """As a part of a path."""
    return re.sub(r"[^\w.-]+", "_", text).strip(".") or "_"
