"""`gridc plan`."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from gridc.cli import terminal
from gridc.cli.options import JSON, Percentage, print_json, study_command
from gridc.cli.terminal import dollars, visible
from gridc.numbers import percent
from gridc.study import OpenStudy

if TYPE_CHECKING:
    from rich.console import Console

    from gridc.study.planning import Cost, Design, DesignAnswer, HypothesisDesign


@click.command()
@study_command
@JSON
@click.option("--against", "earlier", metavar="STAMP", help="Compare with a stamp or lock file.")
@click.option("--decide", metavar="H1,H2", help="Find the cheapest design that can decide these hypotheses.")
@click.option(
    "--power",
    type=float,
    default=0.8,
    show_default=True,
    help="With --decide: the probability that each is supported, if it is true.",
)
@click.option("--usd", type=float, help="The most US dollars that a design may cost.")
@click.option("--tokens", type=float, help="The most tokens that a design may use.")
@click.option("--hours", type=float, help="The most hours that a design may take.")
@click.option(
    "--effect", "effects", multiple=True, metavar="[H1=]PP",
    help="The effect to find, in percentage points: of one hypothesis, or of all without a margin.",
)  # fmt: skip
@click.option(
    "--changing", type=Percentage(), default="20", show_default=True,
    help="Assumed: how many items in 100 have answers that differ between two levels.",
)  # fmt: skip
def plan(
    study: OpenStudy,
    as_json: bool,
    earlier: str | None,
    decide: str | None,
    power: float,
    usd: float | None,
    tokens: float | None,
    hours: float | None,
    effects: tuple[str, ...],
    changing: float,
) -> None:
    """Show the cells, envelopes and calls that a run would execute, and what they would cost.

    With --decide: the cheapest design of items, configurations and replicates in which hypotheses can be
    decided, such as `gridc plan --decide H1,H2 --effect 5 --usd 50`.
    """
    if decide is not None:
        if earlier is not None:
            raise click.UsageError("--decide plans a new design and has nothing to compare --against")
        names = [name.strip() for name in decide.split(",") if name.strip()]
        design = study.design(names, power, usd, tokens, hours, _points(effects), changing)
        if as_json:
            print_json(design.as_json())
        else:
            _print_design(design)
        return
    if usd or tokens or hours or effects:
        raise click.UsageError(
            "--usd, --tokens, --hours and --effect belong to a design: say what to --decide"
        )
    manifest = study.plan(earlier).as_json()
    if as_json:
        print_json(manifest)
    else:
        _print_plan(manifest)


def _points(effects: tuple[str, ...]) -> float | dict[str, float] | None:
    """`5`, or `H1=5` and `H2=3`."""
    try:
        if len(effects) == 1 and "=" not in effects[0]:
            return float(effects[0])
        return {
            name.strip(): float(value) for name, _, value in (effect.partition("=") for effect in effects)
        }
    except ValueError:
        raise click.BadParameter(
            "percentage points, as 5, or as H1=5 for each hypothesis", param_hint="--effect"
        ) from None


def _print_plan(manifest: dict[str, Any]) -> None:
    """Print a plan's envelopes, exclusions and counts."""
    from rich.markup import escape

    console = terminal.table_console()
    envelopes = manifest["envelopes"]
    rows = [["items", *(_known(envelope["items"]) for envelope in envelopes)]]
    if any(envelope["distinct"] for envelope in envelopes):
        rows.append(
            ["distinct questions", *(_known(each["distinct"] or each["items"]) for each in envelopes)]
        )
    rows.append(["envelope |C|", *(f"{envelope['size']:,}" for envelope in envelopes)])
    for kind in ("tiers", "slices"):
        for name in envelopes[0][kind]:
            rows.append([f"  {name}", *(f"{envelope[kind][name]:,}" for envelope in envelopes)])
    names = ["", *(each["benchmark"] for each in envelopes)]
    terminal.print_table(names, rows, range(1, len(names)), title=f"{manifest['study']}: configurations")
    for each in manifest["envelopes"]:
        for model, why in each.get("not_asked", {}).items():
            console.print(escape(f"{model} is not asked {each['benchmark']}: {why}"))
        for why, cells in each["excluded"].items():
            console.print(escape(f"excluded on {each['benchmark']}: {cells:,} cells, {why}"))
    console.print(f"cells {manifest['cells']:,}   runs (cells x replicates) {manifest['runs']:,}")
    console.print(f"observations (items x runs) {_known(manifest['observations'])}")
    primary = manifest["primary"]
    if primary["cells"] < manifest["cells"]:
        console.print(f"primary: cells {primary['cells']:,}   observations {_known(primary['observations'])}")
    for name, curve in manifest["curves"].items():
        console.print(escape(f"curve {name}: {_curve(**curve)}"))
    if manifest["hypotheses"]:
        for line in _prospects(manifest["hypotheses"], manifest["assumed"]):
            console.print(escape(line))
    for note in manifest["notes"]:
        console.print(escape(f"note: {note}"))
    for reading in manifest["readings"]:
        console.print(escape(f"note: {reading} (`gridc audit sample`)"))
    stated = [f"{each['table']} {each['id']}" for each in manifest["uncomputed"]]
    if stated:
        console.print(escape(f"stated, and not computed by this version: {', '.join(stated)}"))
    counts = manifest["counts"]
    if counts is None:
        console.print("calls are not counted: items are absent")
    else:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in counts["by_kind"].items())
        console.print(f"samples {counts['samples']:,}   calls {counts['calls']:,}")
        console.print(f"unique calls {counts['unique']:,} ({kinds})")
        each_prompt = f"each is computed once for {counts['unique'] / counts['prompts']:.1f} calls"
        console.print(f"prompts {counts['prompts']:,}: {each_prompt}")
        for words in manifest["shared"]:
            console.print(escape(f"{words} ([sampling] independent)"))
        _print_costs(manifest)
        for line in _later_calls(manifest["estimates"]):
            console.print(escape(line))
    if manifest["repeats"] is not None:
        console.print(escape(f"{manifest['repeats']} (`[engine] noise_sample = 0`: none)"))
    for name, calls in manifest["references"].items():
        text = f"reference: {calls} greedy calls of {name} are made once more here in fp32, on the CPU"
        console.print(escape(f"{text} (`gridc run --reference 0`: none)"))
    for row in manifest["memory"]:
        free = f"; {row['left']} are free" if row["left"] else ""
        console.print(escape(f"memory: {row['words']}{free}"))
        if row["lacks"]:
            console.print(escape(f"does not fit: {row['lacks']}"))
    for line in manifest["advice"]:
        console.print(escape(f"note: {line}"))
    for name, reason in manifest["unpinned"].items():
        console.print(escape(f"unpinned: {name} ({reason})"))
    for line in manifest["leaves"]:
        console.print(escape(line))
    console.print(f"stamp {manifest['stamp']}")
    if "against" in manifest:
        _against(console, manifest["against"])


def _print_costs(manifest: dict[str, Any]) -> None:
    """What each model will cost: tokens are estimates, and so is what follows from them."""
    names = ("", "calls", "in the store", "prompt tokens", "generated at most", "US $", "time left")
    rows = []
    for name, estimate in manifest["estimates"].items():
        counted = manifest["counts"]["models"][name]
        if not counted["calls"]:
            continue  # a judge, whose calls all come later
        row = (
            name,
            f"{counted['calls']:,}",
            "no store" if counted["stored"] is None else f"{counted['stored']:,}",
            f"{estimate['prompt_tokens']:,}",
            f"{estimate['generated_tokens']:,}",
            _money(estimate),
            "unknown" if estimate["seconds"] is None else f"{estimate['seconds']:,.0f} s",
        )
        rows.append(row)
    bases = sorted({estimate["basis"] for estimate in manifest["estimates"].values()})
    caption = f"tokens by {' or by '.join(bases)}; time as the store's calls took"
    prices = sorted({estimate["price"] for estimate in manifest["estimates"].values() if estimate["price"]})
    if prices:
        caption += (
            f"; US $ if every answer is as long as it may be, between answers of one token and a token for "
            f"every character; prices of {' and of '.join(prices)}"
        )
    terminal.print_table(names, rows, range(1, len(names)), title="by model (about)", caption=caption)


def _money(estimate: dict[str, Any]) -> str:
    """An estimate in US dollars with the least and the most that it can come to."""
    if estimate["usd"] is None:
        return "-"
    usd, least, most = (estimate[key] for key in ("usd", "usd_least", "usd_most"))
    if most == 0:
        return "0"
    return f"{dollars(usd)} ({dollars(least)} to {dollars(most)})"


def _against(console: "Console", difference: dict[str, Any]) -> None:
    """Print what a plan has gained and lost against an earlier stamp."""
    from rich.markup import escape

    numbers = ", ".join(f"{difference[kind]:,} cells {kind}" for kind in ("added", "removed", "changed"))
    console.print(f"against {difference['stamp']}: {numbers}")
    for kind, cells in difference["cells"].items():
        for cell in cells:
            console.print(escape(f"  {kind} {cell}"))
        if difference[kind] > len(cells):
            console.print(f"  and {difference[kind] - len(cells):,} more {kind}")
    for path in difference["paths"]:
        console.print(escape(f"  differs: {path['path']}"))


def _curve(declared: int, answerable: int, run: int) -> str:
    """How much of a curve the study's data can answer, before it is asked."""
    words = f"{declared:,} specifications"
    if answerable < declared:
        words += f", {answerable:,} of them from this study's data: the others need new data or new scores"
    return words if run == answerable else f"{words}; {run:,} of these are drawn and run"


def _known(number: int | None) -> str:
    return "unknown: items are absent" if number is None else f"{number:,}"


def _prospects(hypotheses: list[dict[str, Any]], assumed: str) -> Iterator[str]:
    """The effect that the test of each hypothesis finds, and what would support it, refute it or leave it
    open."""
    from gridc.study.planning import shows_margins

    yield "hypotheses: effects that the test which decides finds 4 times in 5"
    if any(hypothesis["power"]["detectable_pp"] for hypothesis in hypotheses):
        yield f"  assumed: {assumed}"
    for hypothesis in hypotheses:
        power, shown = hypothesis["power"], shows_margins(hypothesis["kind"])
        yield f"  {hypothesis['id']}: {hypothesis['kind']} on {_tested(hypothesis)}"
        level = "" if power["alpha"] is None else f", at {power['alpha']:.3g}"
        yield f"      decided by: {power['test']}{level}"
        for key, aside in (("detectable_pp", ""), ("together_pp", ", all answers to a unit as one")):
            effects = ", ".join(
                f"{'none' if effect is None else f'{effect:.1f} pp'} if {percent(float(share), 0)} change"
                for share, effect in (power[key] or {}).items()
            )
            if effects and not any(power[key].values()):
                yield f"      {'shows no margin' if shown else 'finds no effect'}, however large{aside}"
            elif effects:
                yield f"      {'shows a margin of' if shown else 'finds'} {effects}{aside}"
        if power["error"]:
            yield f"      (by simulation: the standard error of its power is up to {power['error']:.3f})"
        chances = ", ".join(
            f"{chance:.2f} if {percent(float(share), 0)} change"
            for share, chance in (power["power_at_margin"] or {}).items()
        )
        if chances:
            what = "without a difference, shows its margin" if shown else "finds a difference of its margin"
            yield f"      {what} with probability {chances}"
        for verdict in ("supported", "refuted", "open"):
            outcome = hypothesis["outcomes"].get(verdict)
            yield f"      {verdict} if {outcome}" if outcome else f"      cannot be {verdict}"
        if hypothesis["unshown"]:
            yield f"      cannot be supported where nothing changes; could be with: {hypothesis['unshown']}"


def _tested(hypothesis: dict[str, Any]) -> str:
    """`80 items in 20 units, margin 2 pp`."""
    from gridc.schema.inference import contrast_noun  # pydantic's, which costs, and not every command asks

    items, units = (hypothesis[key] for key in ("items", "units"))
    text = "an unknown number of items" if items is None else f"{items:,} items"
    if items != units:
        text += f" in {units:,} units"
    if hypothesis["margin_pp"] is None:
        return text
    return f"{text}, margin {hypothesis['margin_pp']:g} pp between {contrast_noun(hypothesis['axis'])}"


def _later_calls(estimates: "Mapping[str, Mapping[str, Any]]") -> "Iterator[str]":
    """What is asked after the calls that are counted, by model: what scaffolds and judges ask follows from
    answers."""
    for name, estimate in estimates.items():
        if estimate["later"]:
            sizes = [estimate["later"][which] for which in ("least", "expected", "most")]
            calls = " / ".join(f"{size['calls']:,}" for size in sizes)
            tokens = " / ".join(f"{size['prompt_tokens'] + size['generated_tokens']:,}" for size in sizes)
            text = f"{name}: {calls} more calls at least / about / at most, by the answers; {tokens} tokens"
            if sizes[0]["usd"] is not None:
                text += f", US $ {' / '.join(dollars(size['usd']) for size in sizes)}"
            yield text


def _print_design(answer: "DesignAnswer") -> None:
    """Print the cheapest design, or why there is none."""
    for line in _design_lines(answer):
        click.echo(visible(line))


def _design_lines(answer: "DesignAnswer") -> Iterator[str]:
    wanted, design = answer.wanted, answer.design
    names = ", ".join(wanted.decide)
    limit = "".join(f" within {_limit(name, most)}" for name, most in wanted.limits.items())
    if design is None:
        yield f"no design{limit} decides {names} with probability {wanted.power:g}"
        for alone in answer.alone:
            yield f"  {alone.id}, {answer.effects[alone.id]}: {_by_itself(alone, bool(wanted.limits))}"
    else:
        yield f"the cheapest design that decides {names} with probability {wanted.power:g}{limit}"
        yield f"  {_design_words(design, answer.whole)}"
        yield f"  cost: {_cost(design.cost)}"
        for name in wanted.decide:
            yield f"  {name}, {answer.effects[name]}: {design.power[name]:.2f}"
    yield f"assumed: {answer.assumed}"
    for wrong in answer.wrong:
        powers = ", ".join(f"{name} {chance:.2f}" for name, chance in wrong.power.items())
        cost = (
            f"no number of these items has {wanted.power:g}"
            if wrong.cost is None
            else f"{wanted.power:g} would take {_cost(wrong.cost, short=True)}"
        )
        yield f"if {wrong.what}: {powers}; {cost}"
    powers = ", ".join(f"{name} {chance:.2f}" for name, chance in answer.whole.power.items())
    yield f"the spec as it stands: {powers}; {_cost(answer.whole.cost, short=True)}"


def _limit(name: str, most: float) -> str:
    return f"US $ {dollars(most)}" if name == "usd" else f"{most:,.10g} {name}"


def _by_itself(alone: "HypothesisDesign", limited: bool) -> str:
    if alone.design is None:
        return f"not with all items of the data: {alone.power_at_most:.2f} there"
    enough = ", ".join(f"{count:,} items of {name}" for name, count in alone.design.items.items())
    within = f"; within the limit {alone.power_within:.2f}" if limited else ""
    return f"by itself it takes {_cost(alone.design.cost, short=True)} ({enough}){within}"


def _design_words(design: "Design", whole: "Design") -> str:
    """`120 of 400 items of bbq (30 units), template T1 (of 4), 1 answer to each (not 5)`."""
    parts = [
        f"{count:,} items of {name} ({design.units[name]:,} units; the spec asks {whole.items[name]:,})"
        for name, count in design.items.items()
    ]
    parts += [
        f"{axis} {', '.join(kept)} alone (of {len(whole.levels[axis])})"
        for axis, kept in design.levels.items()
        if len(kept) < len(whole.levels[axis])
    ]
    answers = f"1 answer to each{'' if whole.replicates == 1 else f' (not {whole.replicates})'}"
    return f"{'; '.join([*parts, answers])}; {design.cells:,} cells (of {whole.cells:,})"


def _cost(cost: "Cost", short: bool = False) -> str:
    parts = [] if cost.usd is None or not (cost.usd or cost.usd_most) else [f"US $ {dollars(cost.usd)}"]
    if parts and not short and cost.usd_most is not None:
        parts.append(f"at most US $ {dollars(cost.usd_most)}")
    parts.append(f"{cost.tokens:,.0f} tokens")
    if cost.hours is not None:
        parts.append(f"{cost.hours:,.2g} hours")
    if not short:
        parts.append(f"{cost.calls:,.0f} calls")
    return ", ".join(parts)
