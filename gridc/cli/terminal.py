"""How things look on a terminal. Text from files and models is shown, never obeyed."""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from math import floor, log10
from typing import TYPE_CHECKING, Any

from gridc.diagnostics import printed
from gridc.diagnostics.visible import visible as visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table as RichTable

    from gridc.diagnostics.errors import Diagnostic
    from gridc.study.consenting import Leaving
    from gridc.study.measurands import Measurand
    from gridc.study.planning import Alone, Cost, Design, DesignAnswer
    from gridc.study.running import RunStep, Spent, StatusReport
    from gridc.study.scaffolding import ScaffoldReport
    from gridc.study.stamping import StampDeviations

WIDTH = 96
"""Columns of wrapped text."""


def paint(text: str, *, err: bool = False, **style: Any) -> str:
    """The text in a style of `click.style` on a terminal, and as it is in a pipe, a file, or where NO_COLOR
    is set (no-color.org)."""
    stream = sys.stderr if err else sys.stdout
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    if plain or not text:
        return text
    import click

    return click.style(text, **style)


def diagnostics(findings: "Sequence[Diagnostic]") -> str:
    """Diagnostics as compilers print them, coloured where standard error is a terminal."""
    return printed.diagnostics(findings, paint=partial(paint, err=True))


def bullet(sentence: str) -> str:
    """A sentence of a list, wrapped."""
    import click

    return click.wrap_text(visible(sentence), WIDTH, "• ", "  ")


def measurand(shown: "Measurand") -> str:
    """A named measurand: whose it is, its effects as they can be written into a spec, and what they leave."""
    lines = [f"{shown.name}: {shown.title}", f"{shown.package}, {shown.task}", f"from {shown.source}", ""]
    lines += [f"    {key} = {json.dumps(value)}" for key, value in shown.effects.items()]
    lines += ["", *(f"differs: {each}" for each in shown.differs)]
    if shown.loaders:
        lines.append(f"for items of: {', '.join(shown.loaders)}")
    if shown.prompt_from:
        lines.append(f"its prompt does not ship: {shown.prompt_from}")
    return "\n".join(lines)


def plan_table(manifest: dict[str, Any]) -> None:
    """Print a plan's envelopes, exclusions and counts."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    envelopes = manifest["envelopes"]
    table = Table(title=escape(f"{manifest['study']}: configurations"), title_justify="left", box=SIMPLE)
    table.add_column("")
    for each in envelopes:
        table.add_column(escape(each["benchmark"]), justify="right", overflow="fold")
    table.add_row("items", *(_known(envelope["items"]) for envelope in envelopes))
    table.add_row("envelope |C|", *(f"{envelope['size']:,}" for envelope in envelopes))
    for kind in ("tiers", "slices"):
        for name in envelopes[0][kind]:
            table.add_row(escape(f"  {name}"), *(f"{envelope[kind][name]:,}" for envelope in envelopes))
    console.print(table)
    for each in manifest["envelopes"]:
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
        console.print(_costs(manifest))
        for line in _later(manifest["estimates"]):
            console.print(escape(line))
    for name, reason in manifest["unpinned"].items():
        console.print(escape(f"unpinned: {name} ({reason})"))
    for line in manifest["leaves"]:
        console.print(escape(line))
    console.print(f"stamp {manifest['stamp']}")
    if "against" in manifest:
        _against(console, manifest["against"])


def design(found: "DesignAnswer") -> None:
    """Print the cheapest design, or why there is none."""
    import click

    for line in _design_lines(found):
        click.echo(visible(line))


def _design_lines(found: "DesignAnswer") -> Iterator[str]:
    wanted, design = found.wanted, found.design
    names = ", ".join(wanted.decide)
    limit = "".join(f" within {_limit(name, most)}" for name, most in wanted.limits.items())
    if design is None:
        yield f"no design{limit} decides {names} with probability {wanted.power:g}"
        for alone in found.alone:
            yield f"  {alone.id}, {found.effects[alone.id]}: {_alone(alone, bool(wanted.limits))}"
    else:
        yield f"the cheapest design that decides {names} with probability {wanted.power:g}{limit}"
        yield f"  {_design_words(design, found.whole)}"
        yield f"  cost: {_cost(design.cost)}"
        for name in wanted.decide:
            yield f"  {name}, {found.effects[name]}: {design.power[name]:.2f}"
    yield f"assumed: {found.assumed}"
    for wrong in found.wrong:
        powers = ", ".join(f"{name} {chance:.2f}" for name, chance in wrong.power.items())
        cost = (
            f"no number of these items has {wanted.power:g}"
            if wrong.cost is None
            else f"{wanted.power:g} would take {_cost(wrong.cost, short=True)}"
        )
        yield f"if {wrong.what}: {powers}; {cost}"
    powers = ", ".join(f"{name} {chance:.2f}" for name, chance in found.whole.power.items())
    yield f"the spec as it stands: {powers}; {_cost(found.whole.cost, short=True)}"


def _limit(name: str, most: float) -> str:
    return f"US $ {_dollars(most)}" if name == "usd" else f"{most:,.10g} {name}"


def _alone(alone: "Alone", limited: bool) -> str:
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
    parts = [] if cost.usd is None or not (cost.usd or cost.usd_most) else [f"US $ {_dollars(cost.usd)}"]
    if parts and not short and cost.usd_most is not None:
        parts.append(f"at most US $ {_dollars(cost.usd_most)}")
    parts.append(f"{cost.tokens:,.0f} tokens")
    if cost.hours is not None:
        parts.append(f"{cost.hours:,.2g} hours")
    if not short:
        parts.append(f"{cost.calls:,.0f} calls")
    return ", ".join(parts)


def propagation(rows: "Iterable[Mapping[str, Any]]") -> "Iterator[str]":
    """The share of each step's sub-calls that kept each part of its task, of those whose task has it."""
    parts = ("system_prompt", "mc_option", "format_instruction", "safety_instruction")
    lines: list[tuple[str, ...]] = [
        ("scaffold", "step", "sub-calls", "system prompt", "options", "format", "safety")
    ]
    for row in rows:
        shown = [_kept(row, part) for part in parts]
        lines.append((visible(row["scaffold"]), visible(row["step"]), f"{row['n']:,}", *shown))
    yield from columns(lines, names=2)
    yield "kept word for word, of the sub-calls whose task has it; --csv says what is paraphrased"


def columns(lines: "Sequence[Sequence[str]]", names: int) -> "Iterator[str]":
    """A table, its header first: so many columns of names, to the left, then numbers, to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, strict=True)
        texts = [
            f"{text:<{width}}" if place < names else f"{text:>{width}}"
            for place, (text, width) in enumerate(cells)
        ]
        yield "  ".join(texts).rstrip()


def _kept(row: "Mapping[str, Any]", part: str) -> str:
    having = row[f"{part}_applicable"]
    if not having:
        return "-"
    share = f"{row[f'{part}_propagation'] * row['n'] / having:.1%}"
    return share if having == row["n"] else f"{share} of {having:,}"


def scaffold_work(report: "ScaffoldReport") -> "Iterator[str]":
    """Whether scaffolds that have a choice went to work, and what leaked into divided tasks."""
    for engagement in report.engagement:
        if engagement.engaged is not None:
            turn = (
                "no system prompt"
                if engagement.system_turn == "none"
                else f"system prompt as {engagement.system_turn}"
            )
            yield visible(
                f"{engagement.scaffold} of {engagement.model} on {engagement.benchmark}: went to work on "
                f"{engagement.engaged:,} of {engagement.samples:,} samples, "
                f"{engagement.calls:.2f} calls each ({turn})"
            )
    leaks = [leakage for leakage in report.leakage if leakage.leaked]
    for leak in leaks:
        groups = ", ".join(f"{name} on {count:,}" for name, count in sorted(leak.leaked.items()))
        where = f"{leak.scaffold} of {leak.model} on {leak.benchmark}"
        yield visible(f"{where}: features of the persona in the parts of {leak.divided:,} tasks: {groups}")
    if leaks:
        yield f"leakage is found {report.caveat}"


def _prospects(hypotheses: list[dict[str, Any]], assumed: str) -> Iterator[str]:
    """The effect that the test of each hypothesis finds, and what would support it, refute it or leave it
    open."""
    from gridc.study.planning import shows_margins

    yield "hypotheses: effects that the test which decides finds 4 times in 5"
    if any(each["power"]["detectable_pp"] for each in hypotheses):
        yield f"  assumed: {assumed}"
    for hypothesis in hypotheses:
        power, shown = hypothesis["power"], shows_margins(hypothesis["kind"])
        yield f"  {hypothesis['id']}: {hypothesis['kind']} on {_tested(hypothesis)}"
        level = "" if power["alpha"] is None else f", at {power['alpha']:.3g}"
        yield f"      decided by: {power['test']}{level}"
        for key, aside in (("detectable_pp", ""), ("together_pp", ", all answers to a unit as one")):
            effects = ", ".join(
                f"{'none' if effect is None else f'{effect:.1f} pp'} if {float(share):.0%} change"
                for share, effect in (power[key] or {}).items()
            )
            if effects and not any(power[key].values()):
                yield f"      {'shows no margin' if shown else 'finds no effect'}, however large{aside}"
            elif effects:
                yield f"      {'shows a margin of' if shown else 'finds'} {effects}{aside}"
        if power["error"]:
            yield f"      (by simulation: the standard error of its power is up to {power['error']:.3f})"
        chances = ", ".join(
            f"{chance:.2f} if {float(share):.0%} change"
            for share, chance in (power["power_at_margin"] or {}).items()
        )
        if chances:
            what = "without a difference, shows its margin" if shown else "finds a difference of its margin"
            yield f"      {what} with probability {chances}"
        for verdict in ("supported", "refuted", "open"):
            outcome = hypothesis["outcomes"].get(verdict)
            yield f"      {verdict} if {outcome}" if outcome else f"      cannot be {verdict}"


def _tested(hypothesis: dict[str, Any]) -> str:
    """`80 items in 20 units, margin 2 pp`."""
    from gridc.schema.inference import between  # pydantic's, which costs, and not every command asks

    items, units = (hypothesis[key] for key in ("items", "units"))
    text = "an unknown number of items" if items is None else f"{items:,} items"
    if items != units:
        text += f" in {units:,} units"
    if hypothesis["margin_pp"] is None:
        return text
    return f"{text}, margin {hypothesis['margin_pp']:g} pp between {between(hypothesis['axis'])}"


def _later(estimates: "Mapping[str, Mapping[str, Any]]") -> "Iterator[str]":
    """What is asked after the calls that are counted, by model: what scaffolds and judges ask follows from
    answers."""
    for name, estimate in estimates.items():
        if estimate["later"]:
            sizes = [estimate["later"][which] for which in ("least", "expected", "most")]
            calls = " / ".join(f"{size['calls']:,}" for size in sizes)
            tokens = " / ".join(f"{size['prompt_tokens'] + size['generated_tokens']:,}" for size in sizes)
            text = f"{name}: {calls} more calls at least / about / at most, by the answers; {tokens} tokens"
            if sizes[0]["usd"] is not None:
                text += f", US $ {' / '.join(_dollars(size['usd']) for size in sizes)}"
            yield text


def _costs(manifest: dict[str, Any]) -> "RichTable":
    """What each model will cost: tokens are estimates, and so is what follows from them."""
    from rich.box import SIMPLE
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="by model (about)", title_justify="left", box=SIMPLE)
    table.add_column("", min_width=max(map(len, manifest["estimates"])))
    for name in ("calls", "in the store", "prompt tokens", "generated at most", "US $", "time left"):
        table.add_column(name, justify="right", no_wrap=name in ("US $", "time left"))
    for name, each in manifest["estimates"].items():
        asked = manifest["counts"]["models"][name]
        if not asked["calls"]:
            continue  # a judge, whose calls all come later
        table.add_row(
            escape(name),
            f"{asked['calls']:,}",
            "no store" if asked["stored"] is None else f"{asked['stored']:,}",
            f"{each['prompt_tokens']:,}",
            f"{each['generated_tokens']:,}",
            _money(each),
            "unknown" if each["seconds"] is None else f"{each['seconds']:,.0f} s",
        )
    bases = sorted({estimate["basis"] for estimate in manifest["estimates"].values()})
    table.caption = f"tokens by {' or by '.join(bases)}; time as the store's calls took"
    prices = sorted({estimate["price"] for estimate in manifest["estimates"].values() if estimate["price"]})
    if prices:
        table.caption += (
            f"; US $ if every answer is as long as it may be, between answers of one token and a token for "
            f"every character; prices of {' and of '.join(prices)}"
        )
    table.caption_justify = "left"
    return table


def _money(estimate: dict[str, Any]) -> str:
    """An estimate in US dollars with the least and the most that it can come to."""
    if estimate["usd"] is None:
        return "-"
    usd, least, most = (estimate[key] for key in ("usd", "usd_least", "usd_most"))
    if most == 0:
        return "0"
    return f"{_dollars(usd)} ({_dollars(least)} to {_dollars(most)})"


def _dollars(usd: float) -> str:
    """To the cent, and less than a dollar to two figures."""
    return f"{usd:,.2f}" if usd >= 1 else plainly(usd, 2)


def plainly(value: float, figures: int) -> str:
    """To at least so many figures, never as a power of ten: `1,760`, `0.000098`."""
    if value == 0:
        return "0"
    return f"{value:,.{max(figures - 1 - floor(log10(abs(value))), 0)}f}"


def _against(console: "Console", found: dict[str, Any]) -> None:
    """Print what a plan has gained and lost against an earlier stamp."""
    from rich.markup import escape

    numbers = ", ".join(f"{found[kind]:,} cells {kind}" for kind in ("added", "removed", "changed"))
    console.print(f"against {found['stamp']}: {numbers}")
    for kind, cells in found["cells"].items():
        for cell in cells:
            console.print(escape(f"  {kind} {cell}"))
        if found[kind] > len(cells):
            console.print(f"  and {found[kind] - len(cells):,} more {kind}")
    for path in found["paths"]:
        console.print(escape(f"  differs: {path['path']}"))


def deviations(shown: "StampDeviations") -> None:
    """Print the deviation log, each entry with what was stamped and what is run, and what a run observed."""
    import click

    from gridc.study.stamping import brief

    result = shown.reconciled
    if not result.departures and not result.log.deviation:
        click.echo("the study is the one that was stamped")
    for entry, departures in result.entries():
        state = " (resolved)" if entry.resolved else ""
        click.echo(visible(f"{entry.id}  {entry.element}{state}"))
        for departure in departures:
            click.echo(
                visible(
                    f"    {departure.path}: {brief(departure.registered)} -> {brief(departure.implemented)}"
                )
            )
        click.echo(click.wrap_text(visible(entry.reason or "no reason yet"), WIDTH, "    ", "    "))
    if shown.uncovered:
        click.echo(f"note: {shown.uncovered}")
    for sentence in shown.observed or ():
        click.echo(visible(f"observed: {sentence}"))
    if shown.observed is None:
        click.echo("observed: nothing; the study as it is now has not been run")


HELD = {"kv_bytes": "keys and values"}
"""Memory that is printed, by the name under which engines report it, and what it is held for."""


def _worked(name: str, value: float, least: "Mapping[str, float]") -> str:
    """What batches took of one thing, which engines name in `snake_case`."""
    ratio = f", {value / least[name]:.3f} x the least possible" if least.get(name) else ""
    number = f"{value:,}" if float(value).is_integer() else f"{value:,.4g}"
    return f"{number} {name.replace('_', ' ')} so far{ratio}"


def spent(found: "Iterable[Spent]", names: "Mapping[str, str]") -> "Iterator[str]":
    """A line for each model and precision: what its answers took, and what they had to take."""
    for each in found:
        work = ", ".join(_worked(*counted, each.least) for counted in each.work.items())
        held = "".join(
            f", {each.most[name] / 2**20:,.0f} MiB of {what}"
            for name, what in HELD.items()
            if name in each.most
        )
        model = f"{visible(names.get(each.model, each.model[:12]))} ({each.precision})"
        yield visible(f"{model}: {work}, {each.seconds:,.1f} s in the model{held}")
        if each.paths and each.paths != ("forest",):
            yield visible(f"    computed as: {', then '.join(each.paths)}")


def left(state: "StatusReport") -> str | None:
    """How much of a study is answered, after a part of a run or a merge; None where nothing is left."""
    progress = state.progress
    if progress.complete:
        return None
    text = f"{progress.answered:,} of {progress.total:,} calls answered so far"
    if state.judged:
        text += ", and judges are asked when every response is there"
    return text


def pace(state: "StatusReport") -> "Iterator[str]":
    """What is left of each model's calls, how fast they go and what failed, then the expected time."""
    for each in state.pace:
        model = f"{state.models.get(each.model, each.model[:12])} ({each.precision})"
        parts = [f"{each.answered:,} of {each.calls:,} calls"]
        if each.failed:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in each.failed.items())
            parts.append(f"{sum(each.failed.values()):,} failed for good ({kinds})")
        if each.seconds:
            often = each.seconds < 1
            speed = f"{plainly(1 / each.seconds, 3)} a second" if often else f"{each.seconds:,.1f} s each"
            parts.append(speed)
        if each.left:
            left = "" if each.seconds_left is None else f" in about {duration(each.seconds_left)}"
            parts.append(f"{each.left:,} left{left}")
        if each.waiting:
            parts.append(f"{each.waiting:,} in batches at the provider")
        yield visible(f"{model}: {', '.join(parts)}")
    if state.last is not None and not state.progress.complete:
        ago = (datetime.now(UTC) - state.last).total_seconds()
        yield f"the last answer was stored {duration(max(ago, 0))} ago"
    if state.progress.answered < state.progress.total:
        known = state.seconds_left
        expected = "an unknown time" if known is None else f"about {duration(known)}"
        yield f"left: {expected}, and what loading takes; `gridc run` resumes"
    if state.follows:
        yield f"{state.progress.unscored:,} samples have no outcome yet: `gridc run` goes on with them"


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 20 min`, `2 days 4 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 36:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h"


def _curve(declared: int, answerable: int, run: int) -> str:
    """How much of a curve the study's data can answer, before it is asked."""
    words = f"{declared:,} specifications"
    if answerable < declared:
        words += f", {answerable:,} of them from this study's data: the others need new data or new scores"
    return words if run == answerable else f"{words}; {run:,} of these are drawn and run"


def _known(number: int | None) -> str:
    return "unknown: items are absent" if number is None else f"{number:,}"


def note(sentence: str) -> None:
    """Tell the person something beside the result."""
    print(visible(sentence), file=sys.stderr, flush=True)


def consent(what: "Leaving") -> bool:
    """Ask the person whether something may leave the machine, if there is a terminal to ask on. For a
    variable that is not the usual key of its host they type its name."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    for bar in _LIVE:
        bar.stop()
    try:
        return _consent(what)
    finally:
        for bar in _LIVE:
            bar.start()


_LIVE: "list[Progress]" = []
"""The bars on the terminal: they draw over what is asked."""


def _consent(what: "Leaving") -> bool:
    import click

    click.echo(paint(str(what), err=True, bold=True), err=True)
    name = what.reach.variable
    if name is None or what.reach.usual:
        return click.confirm("May it leave? You are not asked again", default=False, err=True)
    warning = f"The spec chose {name}. Whoever has {what.reach.host} will know what is in it."
    click.echo(paint(warning, err=True, fg="red", bold=True), err=True)
    answer = click.prompt(
        "Type the name of the variable to allow it", default="", show_default=False, err=True
    )
    return str(answer).strip() == name


@contextmanager
def progress() -> "Iterator[Callable[[RunStep], None]]":
    """Shows a run's progress with the time left: a bar on a terminal, else a line each tenth."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[spent]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        _LIVE.append(bar)
        task = bar.add_task("reading the spec", total=None, spent="")

        def show(step: "RunStep") -> None:
            if step.found:
                bar.console.print(visible(str(step)), markup=False, highlight=False)
                return
            text = f"{step.model}: {step.doing}" if step.model and step.doing else step.doing or step.model
            bar.update(
                task,
                description=visible(text),
                completed=step.done,
                total=step.total or None,
                spent=f"{step.tokens}, left" if step.tokens else "",
            )

        try:
            yield show
        finally:
            _LIVE.remove(bar)


class _Lines:
    """Progress where there is no terminal."""

    def __init__(self) -> None:
        self._tenth, self._begun, self._said = -1, time.monotonic(), ""

    def __call__(self, step: "RunStep") -> None:
        if step.doing:
            if str(step) != self._said:
                print(visible(str(step)), file=sys.stderr, flush=True)
            self._said, self._begun = str(step), time.monotonic() if not step.done else self._begun
            return
        if not step.total:
            return
        tenth = 10 * step.done // step.total
        if tenth > self._tenth:
            self._tenth = tenth
            spent = time.monotonic() - self._begun
            left = f", about {spent * (step.total / step.done - 1):.0f} s left" if step.done > 0 else ""
            print(
                f"{step.model}: {10 * tenth} % of at most {step.total:,} tokens{left}",
                file=sys.stderr,
                flush=True,
            )
