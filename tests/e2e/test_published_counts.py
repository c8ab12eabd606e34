"""The scaffold study's released counts imported as a store, and what `gridc report` makes of them.

Every figure that a report has is read from estimates.json, scorecard.json or certificate.json. Three studies:
the 62,808 answers by model, of which only counts by cell are released, so that an item's answers under two
scaffolds are paired in one way of many; the 15,702 pairs of answers under direct and a scaffold, of which
the flips are released, as items of their own; and the answers of table 13 with those that could not be read.
`NOT_OF_A_STORE` has the figures that no report has, and why.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.grid.cells import Cell
from gridc.compiler.lock.lock import make_lock, write_lock
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines.protocol import Answer
from gridc.runtime.run import conclude
from gridc.runtime.store.events import RunStarted
from gridc.runtime.store.write import Writer
from gridc.statistics.risk import arm_sums, percentile_interval, resampled_rates
from tests.statistics.test_published_scaffolds import ARMS, DATA, FIGURES, MODELS

pytestmark = pytest.mark.slow

NOT_OF_A_STORE = {
    "leak_OR": "leaks are features of single answers, and covariates are axes: `statistics.clustered_logit`",
    "leak_ctx_OR": "the same",
    "leak_political_OR": "the same",
    "leak_n": "the same",
    "T_leak_gemini3pro": "the same",
    "T_leak_llama4": "the same",
    "T_leak_opus": "the same",
    "T_leak_pooled": "the same",
    "leak_rho": "gridc computes no rank correlation: scipy",
    "baseline_vs_MR_rho": "the same",
    "H1b_RD_wald95": "of independent samples, where a report resamples units: `statistics.risk`, below",
    "H1c_RD_wald95": "the same",
    "H1c_RD_wald90": "the same",
    "LL_main": "a report has no likelihood of a clustered logit: `statistics.clustered_logit`",
    "H1_holm": "of published p-values: `statistics.exact_tests.holm`",
    "mcnemar_leaked": "with a continuity correction, where gridc's is exact: statsmodels",
    "mde500": "of two independent samples, where gridc's design is paired: statsmodels",
    "prop_options": "of traced prompts, of which shares are released: `gridc scaffolds` counts them",
    "eta_residual": "shares of their own sum, as the next two: `statistics.variance`",
    "spec18_ITT_OR_maxdiff": "the largest difference of odds ratios that are compared one by one here",
}

SIZES = {cell[2]: cell[3] for cell in DATA["cells"]}
PAIRS = {row[1]: row[2] for row in DATA["flips"]}
SAFE, UNSAFE, UNREADABLE = "Answer: A", "Answer: B", "I would rather not."

HEAD = """\
gridcard = 1
[study]
id = "counts"
title = "The released counts"
purpose = "comparative"
not_varied = ["everything else"]
[harness]
prompt = "{{ question }}"
method = "extract"
[analysis]
estimator = "cluster_logit"
nnh = { rounding = "ceil" }
generalizability = { scaffold = "random", benchmark = "random" }
"""
FORKS = """\
[[fork]]
id = "benchmark_subset"
category = "data"
levels = ["all4", "exclude_sycophancy", "exclude_xstest"]
default = "all4"
binds = "analysis.primary"
[fork.choice]
exclude_sycophancy = { where = { benchmark = { not = "sycophancy" } } }
exclude_xstest = { where = { benchmark = { not = "xstest_orbench" } } }
[[fork]]
id = "model_subset"
category = "data"
levels = ["all6", "exclude_opus", "exclude_deepseek"]
default = "all6"
binds = "analysis.primary"
[fork.choice]
exclude_opus = { where = { model = { not = "opus" } } }
exclude_deepseek = { where = { model = { not = "deepseek" } } }
[[curve]]
id = "curve"
forks = ["benchmark_subset", "model_subset"]
declared = "post_hoc"
hypotheses = ["H1a", "H1b", "H1c"]
"""


def write(folder: Path, models: list[str], sizes: Mapping[str, int], more: str = "") -> Path:
    """A spec with these models and benchmarks, the first option right, and the four scaffolds."""
    parts = [HEAD]
    for name in models:
        parts.append(f'[[model]]\nid = "{name}"\nengine = "api"\nsource = "openai/{name}-2026-01-01"\n')
    for name, size in sizes.items():
        rows = [{"question": f"{name} {n}", "mc1_targets": {"safe": 1, "unsafe": 0}} for n in range(size)]
        (folder / f"{name}.json").write_text(json.dumps(rows))
        parts.append(
            f'[[benchmark]]\nid = "{name}"\nloader = "truthfulqa_mc1"\nsource = "path:{name}.json"\n'
            'direction = "higher_is_better"\noption_order = "file"\n'
        )
    parts.append('[[axis]]\nid = "scaffold"\n')
    for arm in ARMS:
        prompt = f'"{arm} {{{{ question }}}}"'
        parts.append(
            f'[[axis.level]]\nid = "{arm}"\ntier = "core"\nprompt = {prompt}\nprovenance = "the study"\n'
        )
    for letter, arm in zip("abc", ARMS[1:], strict=True):
        parts.append(
            f'[[hypothesis]]\nid = "H1{letter}"\nkind = "difference"\naxis = "scaffold"\nlevel = "{arm}"\n'
            'reference = "direct"\nmargin = { pp = 2, sensitivity_pp = [1, 3, 5] }\n'
        )
    spec = folder / "gridcard.toml"
    spec.write_text("\n".join([*parts, more]))
    return spec


def imported(spec: Path, said: Callable[[Cell, int], str]) -> Mapping[str, Any]:
    """A store in which the n-th item of each cell got the answer `said`, and its reports."""
    compiled, out = compile_spec(spec, None), spec.parent / "out"
    lock = make_lock(compiled.study, spec.parent)
    write_lock(lock, compiled.lock_path)
    plan = Plan(compiled.study)
    out.mkdir()
    with Writer(out / "store.sqlite") as store:
        store.ingest(plan, lock)
        store.record(RunStarted(stamp=plan.study_digest, gridc=lock.gridc, answered=0))
        answers = _answers(plan, said)
        while batch := list(islice(answers, 20_000)):
            store.answer(batch)
        conclude(plan, store, 0)
    gridc.open(spec, out=out).report()
    return {
        name: json.loads((out / f"{name}.json").read_text())
        for name in ("estimates", "scorecard", "certificate")
    }


def _answers(plan: Plan, said: Callable[[Cell, int], str]) -> Iterator[Answer]:
    for cell in plan.cells():
        for number, sample in enumerate(plan.samples(cell)):
            (request,) = sample.requests
            content = {"text": said(cell, number), "tokens": None, "finish": "stop", "near_ties": 0}
            yield Answer(request.id, content, {"prompt_tokens": 9}, {"tokens": 9}, 0.0)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    counts = {tuple(cell[:3]): cell[4:] for cell in DATA["cells"]}

    def said(cell: Cell, number: int) -> str:
        safe, unreadable = counts[cell.model, cell.levels["scaffold"], cell.benchmark]
        last = number >= SIZES[cell.benchmark] - (unreadable or 0)
        return SAFE if number < safe else UNREADABLE if last else UNSAFE

    return imported(write(tmp_path_factory.mktemp("counts"), MODELS, SIZES, FORKS), said)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """One model and a benchmark's pairs as its items: those that were lost, the other safe ones, the rest."""
    direct = {name: sum(cell[4] for cell in DATA["cells"] if cell[1:3] == ["direct", name]) for name in PAIRS}
    flips = {(row[0], row[1]): row[3:] for row in DATA["flips"]}

    def said(cell: Cell, number: int) -> str:
        safe, arm = number < direct[cell.benchmark], cell.levels["scaffold"]
        if arm != "direct":
            lost, gained = flips[arm, cell.benchmark]
            first = direct[cell.benchmark]
            safe = lost <= number < first or first <= number < first + gained
        return SAFE if safe else UNSAFE

    stated = "".join(
        f'[[hypothesis]]\nid = "S_{arm}"\nkind = "difference"\naxis = "scaffold"\nlevel = "{arm}"\n'
        'reference = "direct"\nmargin = { pp = 2 }\nwhere = { benchmark = "sycophancy" }\n'
        for arm in ARMS[1:]
    )
    spec = write(tmp_path_factory.mktemp("pairs"), ["pooled"], PAIRS, stated)
    text = spec.read_text().replace('generalizability = { scaffold = "random", benchmark = "random" }\n', "")
    spec.write_text(text)
    return imported(spec, said)


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The counts of table 13, with the answers that could not be read."""
    counts = {(row[0], row[1], row[2]): row[3:] for row in DATA["itt_pp"]}

    def said(cell: Cell, number: int) -> str:
        _, parsed, safe = counts[cell.model, cell.levels["scaffold"], cell.benchmark]
        return SAFE if number < safe else UNSAFE if number < parsed else UNREADABLE

    stated = "".join(
        f'[[hypothesis]]\nid = "T_{model}"\nkind = "difference"\naxis = "scaffold"\n'
        f'level = {json.dumps(ARMS[1:])}\nreference = "direct"\nmargin = {{ pp = 2 }}\n'
        f'where = {{ model = "{model}" }}\n'
        for model in MODELS
    )
    sizes = {row[2]: row[3] for row in DATA["itt_pp"]}
    return imported(write(tmp_path_factory.mktemp("readings"), MODELS, sizes, stated), said)


def matches(name: str, shown: Any, scale: float = 1.0) -> None:
    figure = FIGURES[name]
    values = [scale * each for each in shown] if isinstance(shown, list) else scale * shown
    assert values == pytest.approx(figure["value"], abs=max(figure["tolerance"], 1e-9), rel=0), name


def estimates(study: Mapping[str, Any]) -> dict[str, Any]:
    return {row["id"]: row for row in study["estimates"]["estimates"]}


def effects(study: Mapping[str, Any]) -> list[Any]:
    return [row["effect"]["contrasts"][0] for row in study["certificate"]["hypotheses"]]


def test_intervals_of_independent_samples_are_resamples_of_single_answers() -> None:
    """Wald's, to the printed digits, by the function that resamples units in a report."""
    for arm, level, name in (
        ("multi_agent", 0.95, "H1b_RD_wald95"),
        ("map_reduce", 0.95, "H1c_RD_wald95"),
        ("map_reduce", 0.90, "H1c_RD_wald90"),
    ):
        cells = [cell for cell in DATA["cells"] if cell[1] in ("direct", arm)]
        size = sum(cell[3] for cell in cells)
        arms = np.repeat([int(cell[1] == arm) for cell in cells], [cell[3] for cell in cells])
        right = np.concatenate([np.arange(cell[3]) < cell[4] for cell in cells]).astype(float)
        drawn = resampled_rates(arm_sums(np.arange(size), arms, right, 2), 19_999, 1)
        found = percentile_interval(drawn[:, 1] - drawn[:, 0], size, level)
        assert found is not None
        matches(name, [found.low, found.high], 100)


def test_every_figure_is_read_from_a_report_or_it_is_said_why_not() -> None:
    source = Path(__file__).read_text()
    named = {name for name in FIGURES if f'"{name}"' in source}
    named |= {name for name in FIGURES for start in FAMILIES if name.startswith(start)}
    assert named == set(FIGURES)


FAMILIES = ("ITTPP_", "T_syc_", "T_model_config_", "sens_", "rate_", "syc_flip_")
"""Figures by model or scaffold, all of which the tests below go through."""


def test_counts_and_rates_by_scaffold(study: Mapping[str, Any]) -> None:
    react, critic, reduce = effects(study)
    matches("rate_direct", react["change"]["reference_rate"], 100)
    for arm, found in zip(ARMS[1:], (react, critic, reduce), strict=True):
        matches(f"rate_{arm}", found["change"]["rate"], 100)
    matches("H1b_RD", critic["change"]["difference"], 100)
    matches("H1c_RD", reduce["change"]["difference"], 100)
    matches("H1c_NNH", reduce["number_needed"]["displayed"])
    assert reduce["number_needed"]["kind"] == "harm"
    cells = [row for row in study["scorecard"]["models"] for row in row["matrix"]]
    matches("N_total", sum(row["trials"] for row in cells))
    matches("safe_total", sum(int(row["points"]) for row in cells))
    matches("overall_safe_rate", sum(int(row["points"]) for row in cells) / sum(r["trials"] for r in cells))


def test_the_adjusted_odds_of_the_curve(study: Mapping[str, Any]) -> None:
    _, critic, reduce = effects(study)
    matches("H1c_OR", reduce["odds"]["ratio"])
    matches("H1b_logOR_full", critic["odds"]["log_odds"])
    rows = estimates(study)
    for benchmarks, models, level, log_odds, _ in DATA["curve"]:
        name = f"curve/curve/H1{'abc'[ARMS.index(level) - 1]}/{level}-direct/specification/"
        (one,) = [
            row
            for key, row in rows.items()
            if key.startswith(name)
            and f"benchmark_subset = {benchmarks}, model_subset = {models}" in row["about"]
        ]
        assert one["estimate"] == pytest.approx(log_odds, abs=1e-9)


def test_rates_of_models_and_benchmarks(study: Mapping[str, Any]) -> None:
    parts = [{row["part"]: row for row in found["parts"]} for found in effects(study)]
    for name, figure in (("truthfulqa", "H3truth_rates"), ("sycophancy", "syc_pooled")):
        rates = [parts[0][name]["reference_rate"], *(each[name]["rate"] for each in parts)]
        matches(figure, rates, 100)
    cards = {row["model"]: row for row in study["scorecard"]["models"]}
    for model, card in cards.items():
        rows = {(row["benchmark"], row["configuration"]): row for row in card["matrix"]}
        asked = [rows["sycophancy", f"scaffold={arm}"] for arm in ARMS]
        if f"T_syc_{model}" in FIGURES:
            matches(f"T_syc_{model}", [row["rate"] for row in asked], 100)
        if model == "gemini3pro":
            matches("syc_gemini_PP", [row["per_protocol"] for row in asked], 100)
        if f"sens_{model}" in FIGURES:
            own = card["sensitivity"]
            shown = [own[key] for key in ("share", "mean_range", "max_range", "rate")]
            matches(f"sens_{model}", shown, 100)
        if f"T_model_config_{model}" in FIGURES:
            rates = [
                sum(int(row["points"]) for key, row in rows.items() if key[1] == f"scaffold={arm}")
                / sum(row["trials"] for key, row in rows.items() if key[1] == f"scaffold={arm}")
                for arm in ARMS
            ]
            matches(f"T_model_config_{model}", [rates[0], *(rate - rates[0] for rate in rates[1:])], 100)


def test_shares_of_variance_and_generalizability(study: Mapping[str, Any]) -> None:
    rows = estimates(study)
    of = "generalizability/component/models"
    names = (of, f"{of}*scaffold", f"{of}*benchmark", "generalizability/component/rest")
    matches("G_components", [rows[name]["estimate"] for name in names])
    matches("G", rows["generalizability/convention/none"]["estimate"])
    assert rows["generalizability/convention/scaffold+benchmark"]["estimate"] == pytest.approx(
        0.907, abs=5e-4
    )
    shares = {key: row["estimate"] for key, row in rows.items() if key.startswith("variance/")}
    for term, figure in (("model", "eta_model"), ("scaffold", "eta_scaffold")):
        # The study divides by the sum of its squares, which is not the total one where cells differ in size.
        value = FIGURES[figure]["value"]
        assert 100 * shares[f"variance/{term}/eta2"] == pytest.approx(value[0], abs=0.051)
        assert 100 * shares[f"variance/{term}/omega2"] == pytest.approx(value[1], abs=0.051)


def test_flips_and_intervals_of_pairs(pairs: Mapping[str, Any]) -> None:
    """The interval is the released one to a quarter of a point: it takes pairs as independent."""
    found = dict(zip(ARMS[1:], effects(pairs)[:3], strict=True))
    flips = {arm: row["flips"] for arm, row in found.items()}
    lost, gained = (sum(row[key] for row in flips.values()) for key in ("lost", "gained"))
    matches("divergent", [lost + gained, lost, lost / (lost + gained)])
    every = sum(row["lost"] + row["gained"] + row["same"] for row in flips.values())
    matches("flip_pct", (lost + gained) / every, 100)
    for arm, row in zip(ARMS[1:], effects(pairs)[3:], strict=True):
        if f"syc_flip_{arm}" in FIGURES:
            matches(f"syc_flip_{arm}", [row["flips"]["lost"], row["flips"]["gained"]])
    for arm, name in (("react", "H1a_RD_boot95"), ("map_reduce", "H1c_RD_boot95")):
        matches(name, found[arm]["change"]["interval"], 100)


def test_both_readings_of_unreadable_answers(readings: Mapping[str, Any]) -> None:
    """Percent unreadable, safe by intention to treat and per protocol, and the change of both. Per protocol
    the study leaves out single answers, so that its arms are of other items: its figures are those of the
    cells. A difference of gridc is of pairs."""
    cards = {row["model"]: row["matrix"] for row in readings["scorecard"]["models"]}
    found = {row["id"]: row["effect"]["contrasts"] for row in readings["certificate"]["hypotheses"]}
    seen = 0
    for model in MODELS:
        contrasts = dict(zip(ARMS[1:], found[f"T_{model}"], strict=True))
        cells = {
            arm: [row for row in cards[model] if row["configuration"] == f"scaffold={arm}"] for arm in ARMS
        }
        own = {
            arm: sum(int(row["points"]) for row in rows) / sum(row["readable"] for row in rows)
            for arm, rows in cells.items()
        }
        for arm, rows in cells.items():
            name = f"ITTPP_{model}_{arm}"
            if name not in FIGURES:
                continue
            read, asked = (sum(row[key] for row in rows) for key in ("readable", "trials"))
            change = contrasts[arm if arm in contrasts else ARMS[1]]["change"]
            values = (change["reference_rate"], own[arm], 0, 0)
            if arm in contrasts:
                values = (change["rate"], own[arm], change["difference"], own[arm] - own["direct"])
                pairs = contrasts[arm]["other"]["pairs"]
                assert 0 < pairs["compared"] <= min(read, pairs["asked"])
                assert pairs["readable"] == pytest.approx(read / asked)
            matches(name, [1 - read / asked, *values], 100)
            seen += 1
    assert seen == sum(name.startswith("ITTPP_") for name in FIGURES)
