"""Spec -> Study: load what the spec names, draw the samples, and take a digest of every input."""

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from gridc.compiler.frontend.lint import unreachable_criteria
from gridc.compiler.frontend.lookup import DATA_FOLDER, MODELS_FOLDER, NotFound
from gridc.compiler.frontend.plugins import Plugin
from gridc.compiler.frontend.read import CheckedSpec
from gridc.compiler.frontend.source import Source
from gridc.compiler.grid.configurations import asked_models, effect_tables, stated_scaffolds
from gridc.compiler.inputs.dataset_hub import ONLINE
from gridc.compiler.inputs.items import ItemLoader, Items
from gridc.compiler.inputs.models import ModelIdentity, identify
from gridc.compiler.inputs.rates import (
    groups_fit,
    hypotheses_count_something,
    hypotheses_select_items,
    phrases_read_something,
    rightly_keyed,
    scores_fit,
    statistics_fit,
)
from gridc.compiler.inputs.scorers import Scorers
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.options import own_letters
from gridc.compiler.instrument.render import COMPOSITE
from gridc.compiler.instrument.scaffolds import built_in
from gridc.compiler.instrument.scaffolds.procedures import wording_digest
from gridc.compiler.instrument.setting import DEFAULTS
from gridc.diagnostics.errors import Collector, KeyPath, SpecError
from gridc.numbers import asked_items, counted
from gridc.schema.canonical import digest, digest_bytes
from gridc.schema.effects import USER_TURNS
from gridc.schema.inference import CriterionRule
from gridc.schema.items import loader_kind
from gridc.schema.recorded import RecordedRuns
from gridc.schema.spec import Benchmark, Spec


class Origin(NamedTuple):
    """A spec, and the folders of data and models that it was read with."""

    spec: Path
    data: Path | None = None
    models: Path | None = None

    def arguments(self) -> list[str]:
        """As the command line takes them; what is its default, or in the environment, is left out."""
        named = [] if self.spec == Path("gridcard.toml") else [str(self.spec)]
        for option, folder in (("data", self.data), ("models", self.models)):
            if folder is not None and os.environ.get(f"GRIDC_{option.upper()}") != str(folder):
                named += [f"--{option}", str(folder)]
        return named


def show_command(origin: Origin | None, place: Mapping[str, str], item: str | None = None) -> str:
    """The `gridc show` of an item at a place of the grid (dimension -> name), as a shell takes it."""
    words = ["gridc", "show", *(origin.arguments() if origin else [])]
    if item is not None:
        words += [f"--item={item}"] if item.startswith("-") else ["--item", item]
    if place:
        words += ["--where", ",".join(f"{dimension}={name}" for dimension, name in place.items())]
    return shlex.join(words)


def behaviour(spec: Spec) -> dict[str, int]:
    """The version of each part that the study uses: what a stamp holds of gridc itself."""
    from gridc.compiler.instrument.versions import PARTS  # that costs, and not every command asks

    return {part: PARTS[part] for part in parts_used(spec)}


def parts_used(spec: Spec) -> list[str]:
    """The parts that the study uses."""
    from gridc.compiler.instrument.versions import PARTS

    return sorted(set(_parts(spec)) & PARTS.keys())


def parts_lacking(stamped: Mapping[str, Any]) -> list[str]:
    """The parts that a stamped spec uses and its stamp holds no version of, though it holds some."""
    held = stamped.get("behaviour")
    if held is None:
        return []
    try:
        spec = Spec.model_validate_json(json.dumps(stamped["spec"]), strict=True)
    except ValueError:  # of a language that changed since: then nothing here is the study that was stamped
        return []
    return [part for part in parts_used(spec) if part not in held]


def _parts(spec: Spec) -> Iterator[str]:
    """The parts by name, with what is no part (a plug-in's, a default that does nothing)."""
    held = {key: _values(spec, key) for key in _KEYS}
    methods = [METHODS[method] for method in held["method"]]
    yield from (f"method:{method}" for method in held["method"])
    yield from (f"options:{style}" for style in held["options"])
    yield from (f"casing:{casing}" for casing in held["casing"])
    yield from (f"enumerator:{_token(mark)}" for mark in held["enumerator"])
    yield from (f"reader:{method.fixes['reader']}" for method in methods if "reader" in method.fixes)
    if any(method.reads_text for method in methods):
        yield from (f"reader:{reader}" for reader in held["reader"])
    yield from (f"answer:{form}" for form in held["answer"] if form is not None)
    yield from (f"match:{match.kind}" for match in held["match"] if match is not None)
    if any(method.ranks for method in methods):
        for key in ("candidates", "normalise", "ties"):
            yield from (f"{key}:{value}" for value in held[key])
        only = [method.candidates for method in methods if len(method.candidates) == 1]
        yield from (f"candidates:{value}" for (value,) in only)
    if any(value is not None for value in held["wrapper"]):
        yield "prompt:wrapper"
    if any(isinstance(value, Mapping) for value in held["prompt"]):
        yield "prompt:parts"
    if any(value is not None for value in held["scores"]):
        yield "scores:stated"
    yield "scaffold:direct"  # how a prompt and a system prompt become messages
    for scaffold in stated_scaffolds(spec):
        yield f"scaffold:{scaffold.kind}"
        yield from (f"tool:{tool}" for tool in scaffold.tools)
    mapped = [each.loading.fields for each in spec.benchmark if each.loading.fields is not None]
    if any(fields.messages or fields.system for fields in mapped):
        yield "prompt:messages"
    if any(fields.functions for fields in mapped):
        yield "prompt:functions"
    if any(fields.tools for fields in mapped):
        yield "tool:scripted"
    judges = spec.declared_judges
    if judges and any(scaffold.kind in USER_TURNS for scaffold in stated_scaffolds(spec)):
        yield "judge:turns"
    if judges:
        yield "method:judge"
    if any(judge.reply not in (None, "json") for judge in judges):
        yield "judge:reply"
    if any(judge.scale is not None for judge in judges):
        yield "judge:scale"
    if any(judge.counts is not None for judge in judges):
        yield "judge:counts"
    if any(judge.compares is not None for judge in judges):
        yield "judge:compares"
    if any(judge.blinding is not None and judge.blinding.sanitise for judge in judges):
        yield "sanitiser:classes"


_KEYS = (
    "method", "reader", "answer", "options", "casing", "enumerator", "prompt", "wrapper", "candidates",
    "normalise", "ties", "scores", "match",
)  # fmt: skip


def _values(spec: Spec, key: str) -> list[Any]:
    """The values that a key may have in some cell: those that are stated, and its default unless `[harness]`
    states it."""
    stated = [
        value for table in effect_tables(spec) if (value := getattr(table.table, key, None)) is not None
    ]
    if getattr(spec.harness, key, None) is None and key in DEFAULTS:
        stated.append(DEFAULTS[key])
    return stated


def _token(mark: str) -> str:
    """What counts in an enumerator: `A` of `(A)`."""
    token = re.search(r"[Aa1Ii]", mark)
    return "bullet" if token is None else token[0]


RULES: Mapping[str, CriterionRule] = {"criterion": "limits"}
"""By which rules a study decides, as its stamp holds them where it has something to decide by them."""


def decides_by(content: Mapping[str, Any]) -> CriterionRule:
    """What decides the criteria of a study with this stamped content: the rule that it holds, or where it has
    criteria and is of before there were rules, the one of then."""
    tests = content["spec"].get("falsification", [])
    bounds = any(test.get("criterion", {}).get("statistic") is not None for test in tests)
    return "values" if bounds and "rules" not in content else "limits"


@dataclass(frozen=True, slots=True)
class Study:
    """A spec with everything it names: what a stamp covers and a plan is lowered from.

    `absent` holds, by benchmark id, why its items are not here. Such a study has cells but no calls.
    `covers_behaviour` is false of a study whose lock an older gridc wrote, which did not cover what gridc's
    own code does: its stamp stays the one that it was. So is what decides its criteria, `decides_by`.
    `recorded` are the logs of another package that the answers are read from; None where gridc asks. Of these
    `credited` counts, by cell and item, the outcomes that have no score and earn what an unreadable one does.
    """

    spec: Spec
    prompts: Mapping[str, str]
    items: Mapping[str, Items]
    absent: Mapping[str, str]
    models: Mapping[str, ModelIdentity]
    plugins: Mapping[str, Plugin] = field(default_factory=dict, kw_only=True)
    origin: Origin | None = field(default=None, kw_only=True, compare=False)
    judges: Mapping[str, ModelIdentity] = field(default_factory=dict, kw_only=True)
    covers_behaviour: bool = field(default=True, kw_only=True)
    decides_by: CriterionRule = field(default="limits", kw_only=True)
    recorded: RecordedRuns | None = field(default=None, kw_only=True)
    credited: Mapping[str, Mapping[str, int]] = field(default_factory=dict, kw_only=True, compare=False)
    scorers: Scorers = field(default_factory=lambda: Scorers({}, {}), kw_only=True, compare=False)

    def unpinned(self) -> dict[str, str]:
        """Benchmarks and models that are not here to be hashed, with the reason."""
        models = {
            name: identity.unpinned for name, identity in self.asked_models.items() if identity.unpinned
        }
        return {**self.absent, **models}

    @property
    def asked_models(self) -> dict[str, ModelIdentity]:
        """Every model that is asked something, by name: those that are compared, and those that judge."""
        return {**self.models, **self.judges}

    def left_out(self) -> dict[str, tuple[str, ...]]:
        """The malformed rows that a benchmark leaves out because the spec says so, with the reasons."""
        return {name: items.source.left_out for name, items in self.items.items() if items.source.left_out}

    def _benchmark(self, name: str) -> Benchmark:
        return next(benchmark for benchmark in self.spec.benchmark if benchmark.id == name)

    def notes(self) -> Iterator[str]:
        """What a person should know of the study and its inputs, in sentences: a comparison of one model, a
        criterion that cannot be met, how the benchmark files were read, and what is left out of them."""
        if self.spec.study.purpose == "comparative" and len(self.spec.model) == 1:
            yield 'the study is comparative and has one model: add another, or say purpose = "descriptive"'
        if self.decides_by == "limits":
            yield from unreachable_criteria(self.spec)
        for model in self.spec.model:
            identity = self.models[model.id]
            if model.source.startswith("models:") and identity.folder and model.digest is None:
                yield f'{model.id}: digest = "{identity.files_digest}" would tie the spec to these files'
        for name, here in self.items.items():
            yield from (f"{name}: {remark}" for remark in here.source.said)
            if loader_kind(self._benchmark(name).loader).mapped:
                yield from (f"{name}: {remark}" for remark in here.oddities)
            lettered = [item for item in here.sampled if own_letters(item) is not None]
            if lettered:
                which = f"{counted(len(lettered), 'item')} are nothing but labels"
                shown = ", ".join(lettered[0].options)
                yield f"{name}: the options of {which} ({shown}); they keep their order, under no others"
            if len(here.sampled) < here.held:
                drawn = self._benchmark(name).sample
                shown = asked_items(len(here.sampled), here.held, here.distinct)
                yield f"{name}: {shown} are asked (sample: {drawn})"
            if here.distinct:
                copies = counted(len(here.copies), "item asks", "items ask")
                other = f", {here.contradicting:,} of them with another right answer"
                other = other if here.contradicting else ""
                yield (
                    f"{name}: {copies} what an earlier item asks{other}; a copy is no new evidence, so tests "
                    "and intervals rest on "
                    f"{counted(here.distinct, 'distinct question')}"
                )
            left_out = here.source.left_out
            if left_out:
                yield (
                    f"{name}: {len(left_out):,} of {here.source.rows:,} rows do not follow the format and "
                    f"are left out; the first is {left_out[0]}"
                )

    def inputs(self) -> dict[str, Any]:
        """The digest of every input, as it stands in the lock."""
        benchmarks: dict[str, Any] = {name: items.manifest for name, items in self.items.items()}
        benchmarks |= {name: {"unpinned": reason} for name, reason in self.absent.items()}
        plugins = {
            name: plugin.manifest if self.covers_behaviour else plugin.manifest_before
            for name, plugin in self.plugins.items()
        }
        # What the spec says of a judge is in it; files and commits are not.
        judges = {name: identity.manifest for name, identity in self.judges.items() if not identity.unpinned}
        scorers = {name: file.digest for name, file in self.scorers.files.items()}
        scaffolds = {} if self.covers_behaviour else _versions(self.spec)
        return {
            "templates": {
                name: digest_bytes(text.encode())
                for name, text in self.prompts.items()
                if not name.startswith(COMPOSITE)  # its parts are here, and the spec joins them
            },
            "benchmarks": benchmarks,
            "models": {name: identity.manifest for name, identity in self.models.items()},
            **({"plugins": plugins} if plugins else {}),
            **({"scorers": scorers} if scorers else {}),
            **({"scaffolds": scaffolds} if scaffolds else {}),
            **({"judges": judges} if judges else {}),
        }

    def stamped(self) -> dict[str, Any]:
        """What the stamp is the digest of."""
        content = {"spec": self.spec.stamped(), "inputs": self.inputs()}
        if self.covers_behaviour:
            content["behaviour"] = behaviour(self.spec)
        if self.spec.bounds and self.decides_by != "values":
            content["rules"] = dict(RULES)
        return content


def _versions(spec: Spec) -> dict[str, str]:
    """What a stamp held of scaffolds before it covered what they do: a version, which was 1 of each, and the
    digest of the wording."""
    procedures = {
        kind: built_in(kind) for kind in sorted({scaffold.kind for scaffold in stated_scaffolds(spec)})
    }
    return {
        kind: digest({"version": 1, "wording": wording_digest(procedure.wording)})
        for kind, procedure in procedures.items()
        if procedure is not None and procedure.wording is not None
    }


ITEM_CHECKS = (
    hypotheses_count_something,
    hypotheses_select_items,
    phrases_read_something,
    scores_fit,
    groups_fit,
    rightly_keyed,
    statistics_fit,
)
"""What is asked of a spec once its items are known."""


def resolve(
    checked: CheckedSpec,
    pins: Mapping[str, str],
    online: bool = False,
    covers_behaviour: bool = True,
    decides_by: CriterionRule = "limits",
) -> Study:
    """The study that a checked spec describes. `pins` gives hub commits from a lock (`Lock.pins`); with
    `online` the hub is asked for those it does not give. `covers_behaviour` and `decides_by` are the study's.

    Raises `SpecError` with every input that is malformed. Data that is looked up under a data folder or on
    the hub may be absent, because cells can be counted without it.
    """
    spec, source, places, references = checked.spec, checked.source, checked.places, checked.references
    collector = Collector()
    templates = references.prompts.values()
    loader = ItemLoader(spec, source, places, pins, online, templates, checked.tasks)
    for diagnostic in loader.load().diagnostics:
        collector.add(diagnostic)
    for check in ITEM_CHECKS:
        for diagnostic in check(spec, source, loader.items):
            collector.add(diagnostic)

    models: dict[str, ModelIdentity] = {}
    judges: dict[str, ModelIdentity] = {}
    for path, model in asked_models(spec):
        known = models if path[0] == "model" else judges
        try:
            known[model.id] = identify(model, places, pins.get(model.id), online)
        except NotFound as error:
            key = "source" if model.weights is None else "weights"
            collector.add(source.diagnose(error.code, (*path, key), error.problem, error.help))
    collector.raise_if_any()
    origin = Origin(source.path, places.data_folder, places.models_folder)
    read = loader.items, loader.absent, models
    return Study(
        spec, references.prompts, *read, plugins=checked.plugins, judges=judges, origin=origin,
        covers_behaviour=covers_behaviour, decides_by=decides_by,
        scorers=Scorers(references.scorers, checked.plugins),
    )  # fmt: skip


def require_files(study: Study, source: Source) -> None:
    """Raise `SpecError` when a benchmark's items or a local model's files are not here, because calls are
    about to be made."""
    missing = []
    for number, benchmark in enumerate(study.spec.benchmark):
        if benchmark.id in study.absent:
            where: KeyPath = ("benchmark", number, "source")
            help = ONLINE if benchmark.source.startswith("hf:") else DATA_FOLDER
            missing.append(source.diagnose("GC309", where, study.absent[benchmark.id], help))
    for path, model in asked_models(study.spec):
        identity = study.asked_models[model.id]
        key, files = ("source", identity) if identity.weights is None else ("weights", identity.weights)
        if files.source.startswith("models:") and files.folder is None:
            message = f"`{files.source}` is not here"
            missing.append(source.diagnose("GC309", (*path, key), message, MODELS_FOLDER))
    if missing:
        raise SpecError(missing)
