"""Decides by proof how a model is computed: a faster path is taken only where it gives what the model gives.

The proof is made on the model itself or on a smaller twin of it.

Sequences of random tokens go through the model's own attention, in each implementation it has, and through
the path: trunk, stems and steps, with branches in the stems and in the steps. Logits are compared at every
position. How far they may differ is measured by what attention is worth in this very model: how much the
logits behind the same tokens change when what stood before them is another text. So a wrong attention is seen
in a model whose weights are random too.

In another precision than fp32 rounding moves logits by itself, and a router that rounds at a near tie takes
another expert, so a comparison of logits cannot tell rounding from a wrong attention. It is proved in two
steps on a twin, a smaller model in fp32 that runs the same code. First the path in fp32 against the twin
itself. Then, where attention is computed in two bytes, the forest in that type against the forest in fp32,
layer by layer (`rounding`), on the device that will answer. On the model itself, in its precision, the forest
must be no further from the model's own attention than that is from itself in another implementation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from math import inf
from typing import Any, Literal

import torch

from gridc.runtime.engines.hf.attention import NAME as FOREST_ATTENTION
from gridc.runtime.engines.hf.attention import Softmax, UnsupportedAttention, viewing
from gridc.runtime.engines.hf.forest import Forest
from gridc.runtime.engines.hf.kv_cache import Shape
from gridc.runtime.engines.hf.memory import is_shortage
from gridc.runtime.engines.hf.paths import (
    CachedPath,
    ComputePath,
    PlainPath,
    WatchTokens,
    forget_lengths,
    longest_input,
    own_attention,
    use_attention,
)
from gridc.runtime.engines.hf.rounding import MOST_STEPS, worst_rounding
from gridc.runtime.engines.hf.sampling import NonFiniteLogitsError
from gridc.runtime.engines.hf.sequences import Member
from gridc.runtime.engines.hf.twins import NoTwinError, twin_of

SEEDS = (0, 1, 2)
"""Of the twins that may prove a path. Among many experts a near tie is met now and then in fp32 too; a wrong
attention is wrong in each of them."""

TOLERANCE = 1e-3
"""Most by which a logit may differ in fp32, times the worth of attention where that is below 1."""

SEEN = 0.1
"""The largest tolerance, as a share of the worth of attention, at which a wrong attention is still seen."""

ROUNDING = 1e-6
"""What fp32 makes of a logit of 1 by itself, at most."""

LEAST, MOST = 320, 1344
"""Tokens of a trial: beyond every window and chunk of the model up to the most."""

FORK, ENDS = 60, 12
"""Where the second prompt of a trial leaves the first, in percent of what follows the trunk, and after how
many tokens a path behind a prompt ends early."""

APART = 2.0
"""In two bytes, the most by which the forest may be further from the model's own attention than that is from
itself in another implementation: medians over tokens. Right ones were at 0.1 to 1.2."""

_STATIC_ROPES = frozenset({"default", "linear", "yarn", "llama3", "proportional"})


class NoProvedPath(ValueError):
    """No path reproduces what the model computes."""


@dataclass(frozen=True, slots=True)
class PathTrial:
    """How a path did beside a model of so many `layers` itself, over `tokens` positions: `deviation` is the
    largest difference of a logit, `noise` that between the model's own implementations of attention, `worth`
    how much the logits behind the same tokens depend on what stood before. Of a forest in two bytes also how
    many times further it is from the model's own attention than that is from itself (`apart`), or, on a twin,
    by how many steps of its numbers a token errs at most (`rounding`)."""

    tokens: int
    worth: float
    noise: float
    deviation: float
    layers: int
    apart: float | None = None
    rounding: float | None = None

    def manifest(self) -> dict[str, Any]:
        """The record of it that the store keeps."""
        numbers = {"tokens": self.tokens, "worth": self.worth, "noise": self.noise}
        reduced = {"apart": self.apart, "rounding": self.rounding}
        known = {name: value for name, value in reduced.items() if value is not None}
        return {**numbers, "deviation": self.deviation, **known}


@dataclass(frozen=True, slots=True)
class Branching:
    """What follows the prompts of a trial: so many `steps`, and for each path behind the first prompt or the
    second which one it leaves, and after how many tokens."""

    steps: int
    leaves: tuple[tuple[int, int], ...]


FEW = Branching(24, ((0, 5), (0, 9), (3, 15)))
"""On a model itself, where every path costs a pass of it."""

MANY = Branching(48, (*FEW.leaves, (0, 1), (0, 3), (5, 6), (1, 4), (8, 7), (1, 10), (9, 13), (6, 17)))
"""On a twin: more rows and longer tips than fit into the tiles of a kernel at once."""


@dataclass(frozen=True, slots=True)
class PathForm:
    """A path without a model: the forest of a model whose layers see `window` tokens back; a cached one whose
    batches take `room` bytes, with or without shared `prefixes`; or a plain one."""

    name: Literal["forest", "cached", "plain"]
    window: int | None = None
    room: int = 0
    prefixes: bool = True

    def of(self, subject: "_Subject", watch: WatchTokens | None) -> ComputePath:
        """The path of a model. Raises `UnsupportedAttention`."""
        model = subject.model
        if self.name == "forest":
            return Forest(model, shape_of(model, subject.shape, self.window), watch)
        if self.name == "cached":
            return CachedPath(model, subject.own, self.room, self.prefixes, watch)
        return PlainPath(model, subject.own, watch)


@dataclass(frozen=True, slots=True)
class ProvedPath:
    """A path that was proved, for calls of at most `limit` positions (None: any). `why` says why no better
    path takes them. `trial` is that on the model itself, which proves the path in fp32 and otherwise measures
    its noise; then `proof` is that on a twin, None where the model itself runs and no twin could be made."""

    path: ComputePath
    form: PathForm
    limit: int | None
    why: str | None
    trial: PathTrial
    exact: bool
    proof: PathTrial | None

    def manifest(self) -> dict[str, Any]:
        """The record of it that the store keeps."""
        kept = {"up_to": self.limit, "why": self.why, "check": self.trial.manifest()}
        if self.exact:
            return kept
        proof = self.proof and {"twin_layers": self.proof.layers, **self.proof.manifest()}
        return {**kept, "proof": proof}

    def as_json(self) -> dict[str, Any]:
        """All but the model: what `remade` takes."""
        proof = self.proof and asdict(self.proof)
        outcome = {"trial": asdict(self.trial), "exact": self.exact, "proof": proof}
        return {"form": asdict(self.form), "limit": self.limit, "why": self.why, **outcome}


@dataclass(frozen=True, slots=True)
class Lengths:
    """Up to which length a model's attention sees everything (`window`), and its positions do not depend on
    how long the input is (`static`)."""

    window: int | None
    static: int | None

    @classmethod
    def of(cls, config: Any) -> "Lengths":
        """The lengths that a configuration declares."""
        ropes = dict(_ropes(getattr(config, "rope_parameters", None) or {}))
        static = None
        if set(ropes) - _STATIC_ROPES:
            declared = [rope for kind, rope in ropes.items() if kind not in _STATIC_ROPES and rope]
            static = min([*declared, getattr(config, "max_position_embeddings", None) or 0])
        layers = set(getattr(config, "layer_types", None) or [])
        if layers == {"full_attention"}:
            return cls(None, static)
        return cls(min(_windows(config), default=None), static)


def routes(
    model: Any, config: Any, shape: Shape, exact: bool, room: int, longest: int
) -> Iterator[ProvedPath]:
    """The routes of a model, from the shortest calls on, until one takes calls of `longest` positions.

    `exact` says that it computes in fp32; `room` bounds the bytes of a cached batch. Raises `NoProvedPath`,
    and `NonFiniteLogitsError` where the model's logits are not finite.
    """
    lengths = Lengths.of(config)
    subject, twins = _Subject(model, config, shape), None if exact else _Twins(model, shape)
    reached: int | None = 0
    while reached is not None and reached < longest:
        route = _next_route(subject, twins, room, lengths, reached)
        yield route
        reached = route.limit


def proved_path_from_json(model: Any, config: Any, shape: Shape, kept: Mapping[str, Any]) -> ProvedPath:
    """A route of this model as it was proved before (`ProvedPath.as_json`). Raises `UnsupportedAttention`."""
    form, trial = PathForm(**kept["form"]), PathTrial(**kept["trial"])
    proof = kept["proof"] and PathTrial(**kept["proof"])
    path = form.of(_Subject(model, config, shape), None)
    return ProvedPath(path, form, kept["limit"], kept["why"], trial, kept["exact"], proof)


@dataclass(frozen=True, slots=True)
class _Subject:
    """A model, or a twin of it, on which paths are tried."""

    model: Any
    config: Any
    shape: Shape

    @property
    def own(self) -> str:
        return own_attention(self.model)


class _Twins:
    """The twins of a model, each made when those before it did not prove a path."""

    def __init__(self, model: Any, shape: Shape) -> None:
        self._model, self._shape = model, replace(shape, dtype=torch.float32)
        self._made: list[_Subject] = []
        self.why: str | None = None

    def __iter__(self) -> Iterator[_Subject]:
        yield from self._made
        for seed in SEEDS[len(self._made) :]:
            try:
                twin = twin_of(self._model, seed)
            except NoTwinError as error:
                self.why = f"no twin of it in fp32 can be made ({error}), so no other path is proved"
                return
            self._made.append(_Subject(twin, twin.config.get_text_config(decoder=True), self._shape))
            yield self._made[-1]


def _next_route(
    subject: _Subject, twins: _Twins | None, room: int, lengths: Lengths, reached: int
) -> ProvedPath:
    """The best path for calls that are longer than what the routes before reach."""
    window, static = (length if length is None or length > reached else 0 for length in astuple(lengths))
    reasons = []
    if window == 0:
        reasons.append(f"it sees {lengths.window} tokens back")
    if static == 0:
        reasons.append(f"its positions depend on the length beyond {lengths.static} tokens")
    limit = min((length for length in (window, static) if length), default=None)
    most = longest_input(subject.config) or MOST
    wanted = LEAST if limit else max(LEAST, (lengths.window or 0) + 64)
    tokens = max(min(wanted, limit or MOST, most, MOST), FEW.steps + 8)
    itself = _References(subject, tokens, FEW)
    judges = [itself.required()] if twins is None else _Judges(twins, tokens)
    judge = next(iter(judges), None)
    decisive = judge is not None and judge.decisive
    if judge is None:
        assert twins is not None and twins.why is not None
        reasons.append(twins.why)
    elif not decisive:
        reasons.append(f"what stands before a token moves its logits by no more than {judge.worth:.2g}")
    forms: list[tuple[int | None, PathForm]] = []
    if not reasons:
        forms.append((limit, PathForm("forest", window)))
    if static != 0 and decisive:
        forms += [(static, PathForm("cached", room=room, prefixes=prefixes)) for prefixes in (True, False)]
    forms.append((None, PathForm("plain")))
    for reach, form in forms:
        proof = _proof(judges, form, subject.shape.dtype)
        outcome = proof
        if twins is not None and not isinstance(proof, str):
            outcome = _attempt(itself, form, measured=True)
        if isinstance(outcome, str):
            reasons.append(outcome)
        if isinstance(outcome, PathTrial):
            if not form.prefixes:
                reasons[-1] += ", so each prompt is computed in one piece"
            why = "; ".join(dict.fromkeys(reasons)) or None
            path = form.of(subject, None)
            return ProvedPath(path, form, reach, why, outcome, twins is None, _trial(proof))
    raise NoProvedPath("; ".join(dict.fromkeys(reasons)))


def _trial(outcome: "PathTrial | str | None") -> PathTrial | None:
    return outcome if isinstance(outcome, PathTrial) else None


class _Judges:
    """What the twins of a model themselves give, each asked for when those before it did not prove a path."""

    def __init__(self, twins: _Twins, tokens: int) -> None:
        self._twins, self._tokens = iter(twins), tokens
        self._made: list[_References] = []
        self._refused: NoProvedPath | None = None

    def __iter__(self) -> "Iterator[_References]":
        """Raises `NoProvedPath` where each of the twins is refused."""
        place = 0
        while place < len(self._made) or self._makes_another():
            yield self._made[place]
            place += 1

    def _makes_another(self) -> bool:
        for twin in self._twins:
            try:
                self._made.append(_References(twin, self._tokens, MANY).required())
            except NoProvedPath as error:
                self._refused = error
            else:
                return True
        if self._refused and not self._made:
            raise self._refused
        return False


def _proof(judges: "Iterable[_References]", form: PathForm, dtype: torch.dtype) -> PathTrial | str | None:
    """The first trial that proves a path, where attention is computed in `dtype`, else why the first of them
    does not; None without any trial."""
    first: str | None = None
    for judge in judges:
        outcome = _attempt(judge, form)
        if isinstance(outcome, PathTrial) and form.name == "forest" and dtype.itemsize == 2:
            outcome = _rounded(judge, form, dtype, outcome)
        if isinstance(outcome, PathTrial):
            return outcome
        first = first or outcome
    return first


def _attempt(references: "_References", form: PathForm, measured: bool = False) -> PathTrial | str:
    """A path's trial, or the reason why it is not taken. Where noise is `measured`, no difference of a logit
    is too large, but a forest in two bytes must not be too far `apart` in the middle."""
    comparison = _Comparison(references)
    try:
        path = form.of(references.subject, comparison.watch)
        references.compute(path)
    except Exception as error:  # whatever the code of an architecture raises where it is asked otherwise
        return _refusal(error)
    name, most = path.name, references.tolerance
    if comparison.seen != references.needed_tokens:
        return f"the {name} path leaves positions out"
    if not comparison.deviation <= (inf if measured else most):
        if name == "plain":
            moved = f"{comparison.deviation:.2g} in a logit"
            return f"what it gives behind the same tokens depends on how long its input is, by {moved}"
        return f"the {name} path moves logits by {comparison.deviation:.2g} where {most:.2g} may be"
    apart = None
    if measured and name == "forest" and references.subject.shape.dtype.itemsize == 2 and references.apart:
        apart = comparison.apart / references.apart
        if not apart <= APART:
            return (
                f"the forest path is {apart:.2g} times as far from the model's own attention as that is from "
                f"itself in another implementation, where {APART:.2g} may be"
            )
    layers = getattr(references.subject.config, "num_hidden_layers", None) or 1
    numbers = references.tokens, references.worth, references.noise
    return PathTrial(*numbers, comparison.deviation, layers, apart=apart)


def _refusal(error: Exception) -> str:
    """Why a path that raised this is not taken. Raises the error where there was no memory for it: with more
    the path may be right, and answers must not depend on that."""
    if is_shortage(error):
        raise error
    if isinstance(error, UnsupportedAttention | NonFiniteLogitsError):
        return str(error)
    text = str(error).strip().partition("\n")[0][:120]
    return f"its code does not take part ({type(error).__name__}: {text})"


def _rounded(judge: "_References", form: PathForm, dtype: torch.dtype, proved: PathTrial) -> PathTrial | str:
    """The trial of a forest that was `proved` in fp32, in `dtype` too, or why that is not taken."""
    subject = judge.subject
    try:
        shape = shape_of(subject.model, subject.shape, form.window)
        steps = worst_rounding(subject.model, shape, dtype, judge.compute)
    except Exception as error:  # whatever a kernel raises where it is asked otherwise
        return _refusal(error)
    if not steps <= MOST_STEPS:
        name = str(dtype).removeprefix("torch.")
        return (
            f"in {name} the attention of the forest path is {steps:.2g} steps off where {MOST_STEPS} may be"
        )
    return replace(proved, rounding=steps)


class _References:
    """What a model itself gives: sequences that share their beginnings, and one that tells what a beginning
    is worth."""

    def __init__(self, subject: _Subject, tokens: int, branching: Branching) -> None:
        self.subject, self.tokens = subject, tokens
        model, own = subject.model, subject.own
        steps = min(branching.steps, max(FEW.steps, tokens // 2))
        self._start, self._trunk = tokens - steps, tokens // 4
        self._fork = self._trunk + (self._start - self._trunk) * FORK // 100
        leaves = [(0, self._fork), *((of, self._start + after) for of, after in branching.leaves)]
        sequences, other = _sequences(subject.config, tokens, leaves)
        self._sequences = [tuple(row.tolist()) for row in sequences]
        self.places = {
            (at, token): (row, at)
            for row, sequence in reversed(list(enumerate(self._sequences)))
            for at, token in enumerate(sequence[:-1])
        }
        main = sequences[0]
        first = _logits(model, own, sequences)
        elsewhere = _logits(model, own, other[None])[0]
        self.logits = [first]
        for name in ("eager", "sdpa"):
            if name != own:
                try:
                    self.logits.append(_logits(model, name, main[None]))
                except (ValueError, ImportError, NotImplementedError, RuntimeError) as error:
                    if is_shortage(error):
                        raise
                    continue  # it has no such implementation
        for logits in (*self.logits, elsewhere):
            if not bool(logits.isfinite().all()):
                raise NonFiniteLogitsError("its logits are not finite (NaN or infinity)")
        half = tokens // 2
        self.worth = float((first[0, half:] - elsewhere[half:]).abs().max())
        self.noise = max((float((first[0] - logit[0]).abs().max()) for logit in self.logits[1:]), default=0.0)
        self.apart = max((_middle(first[0] - logit[0]) for logit in self.logits[1:]), default=0.0)
        self.tolerance = max(ROUNDING * float(first.abs().max()), TOLERANCE * min(1.0, self.worth))
        self.decisive = self.tolerance <= SEEN * self.worth

    def required(self) -> "_References":
        """Itself. Raises `NoProvedPath` where the model is not causal, or not one model."""
        first, fork = self.logits[0], self._fork
        if not float((first[0, :fork] - first[1, :fork]).abs().max()) <= self.tolerance:
            raise NoProvedPath("a token changes the logits before it, so this is not a causal language model")
        if self.noise > self.tolerance:
            raise NoProvedPath(
                f"its own implementations of attention differ by {self.noise:.2g} in a logit where "
                f"{self.tolerance:.2g} may be: what it answers would depend on which is taken"
            )
        return self

    def compute(self, path: ComputePath) -> None:
        """Have a path compute the reference sequences."""
        path.decode(*self._work(), frozenset())

    def _work(self) -> tuple[tuple[int, ...], tuple[int, ...], list[Member]]:
        """A trunk in two stretches, two prompts that share more than it, and paths behind them: rows part,
        one ends before the others, and those behind it move up."""
        start, trunk = self._start, self._trunk
        ends = [start + ENDS if row == 2 else self.tokens for row in range(len(self._sequences))]
        paths = list(zip(self._sequences, ends, strict=True))
        members = [Member("", path[:start], end - start, given=path[start:end]) for path, end in paths]
        return self._sequences[0][:trunk], (trunk // 2, trunk), members

    @property
    def needed_tokens(self) -> frozenset[tuple[int, int]]:
        """The tokens, at their positions, behind which a path has to compute something."""
        _, _, members = self._work()
        whole = [(*member.prompt, *(member.given or ()))[:-1] for member in members]
        return frozenset((at, token) for path in whole for at, token in enumerate(path))


def _sequences(
    config: Any, tokens: int, leaves: Sequence[tuple[int, int]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences of random tokens: the first, and others, of which each leaves an earlier one (which, at what
    position). At no position do two of them have the same token once they have parted: by it the one is told
    from the other. And the second half of the first behind another beginning. Raises `NoProvedPath` where
    there are too few tokens for that."""
    vocabulary = int(config.vocab_size)
    special = [getattr(config, name, None) for name in ("pad_token_id", "eos_token_id", "bos_token_id")]
    flat = [token for part in special for token in (part if isinstance(part, list) else [part])]
    # A special token may mean something to the model's code, such as padding.
    avoided = [token for token in flat if token is not None and vocabulary > 64]
    every = torch.arange(vocabulary)
    known = every[~torch.isin(every, torch.tensor(avoided, dtype=every.dtype))]
    if len(known) <= len(leaves):
        raise NoProvedPath(
            f"its vocabulary has {vocabulary} tokens, and the proof of how it is computed takes "
            f"{len(leaves) + 1} at least: serve it, and ask it as an api model with base_url"
        )
    generator = torch.Generator().manual_seed(20)
    main, other = torch.randint(0, len(known), (2, tokens), generator=generator)
    sequences = [main]
    for (parent, position), aside_by in zip(leaves, _asides(len(leaves), len(known)), strict=True):
        aside = (main + aside_by) % len(known)
        sequences.append(torch.cat([sequences[parent][:position], aside[position:]]))
    return known[torch.stack(sequences)], known[torch.cat([other[: tokens // 2], main[tokens // 2 :]])]


def _asides(others: int, words: int) -> list[int]:
    """By how much the tokens of each of the other sequences are beside those of the first: all different, and
    far from each other where there are enough words."""
    for step in range(7, 7 + words):
        asides = [1 + step * number for number in range(1, others + 1)]
        if len({0, *(aside % words for aside in asides)}) > others:
            return asides
    return list(range(1, others + 1))


def _middle(differences: torch.Tensor) -> float:
    """The median over tokens of the root mean square of differences (tokens, vocabulary)."""
    return float(differences.square().mean(-1).sqrt().median())


@dataclass(slots=True)
class _Comparison:
    """Holds what a path computes against the references, position by position."""

    references: _References
    deviation: float = 0.0
    seen: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    _apart: list[torch.Tensor] = field(default_factory=list)

    @property
    def apart(self) -> float:
        """How far what was computed is from the model's own attention: a median, as `_middle`."""
        return float(torch.cat(self._apart).median())

    def watch(self, positions: Sequence[int], tokens: Sequence[int], logits: torch.Tensor) -> None:
        """What a path computed: logits (tokens, vocabulary) behind tokens at positions."""
        places = list(zip(positions, tokens, strict=True))
        at = torch.tensor([self.references.places[place] for place in places])
        self.seen |= frozenset(places)
        for number, own in enumerate(self.references.logits):
            kept = at[:, 0] < own.shape[0] if number else torch.ones(len(at), dtype=torch.bool)
            if bool(kept.any()):
                rows, columns = at[kept].to(own.device).unbind(-1)
                differences = logits[kept.to(logits.device)] - own[rows, columns]
                largest = differences.abs().max()
                # A comparison with NaN is false, so NaN has to stay.
                self.deviation = float(torch.maximum(largest, largest.new_tensor(self.deviation)))
                if number == 0:
                    self._apart.append(differences.square().mean(-1).sqrt())


def _logits(model: Any, attention: str, ids: torch.Tensor) -> torch.Tensor:
    """What the model by itself gives: logits (rows, tokens, vocabulary) in fp32."""
    use_attention(model, attention)
    forget_lengths(model)
    with torch.inference_mode():
        logits: torch.Tensor = model(input_ids=ids.to(model.device), use_cache=False).logits.float()
    return logits


class _Probe:
    """A view that only looks: heads and widths of each layer's keys and values."""

    def __init__(self, window: int | None) -> None:
        self._window = window
        self.layers: dict[int, tuple[int, int]] = {}

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, softmax: Softmax
    ) -> torch.Tensor:
        if layer in self.layers:
            raise UnsupportedAttention(f"layer {layer} attends more than once")
        if softmax.window is not None and softmax.window != self._window:
            raise UnsupportedAttention(
                f"layer {layer} sees {softmax.window} tokens back, which is not declared"
            )
        self.layers[layer] = (key.shape[1], key.shape[2])
        return query


def shape_of(model: Any, guess: Shape, window: int | None = None) -> Shape:
    """What the keys and values of a model look like, by looking. Works on a model without weights (meta) too.
    `window` is the one that its configuration declares.

    Raises `UnsupportedAttention` when its attention is not where the forest could replace it.
    """
    use_attention(model, FOREST_ATTENTION)
    probe = _Probe(window)
    positions = torch.arange(2, device=model.device)[None]
    with torch.inference_mode(), viewing(probe, positions[0]):
        ids = torch.zeros((1, 2), dtype=torch.long, device=model.device)
        model(input_ids=ids, position_ids=positions, use_cache=False)
    layers = probe.layers
    if not layers or set(layers) != set(range(len(layers))):
        raise UnsupportedAttention("not every layer attends through transformers' interface")
    return Shape(tuple(layers[number] for number in range(len(layers))), guess.dtype, guess.device)


def _windows(config: Any) -> list[int]:
    """The windows and chunks of attention that a configuration declares."""
    declared = config.to_dict().items()
    named = ((name, value) for name, value in declared if "window" in name or "chunk" in name)
    other = ("max_", "pattern", "layers")
    return [
        value
        for name, value in named
        if type(value) is int and value > 1 and not any(part in name for part in other)
    ]


def _ropes(parameters: Any) -> Iterator[tuple[str, int | None]]:
    """The rotary embeddings that are declared, for all layers or for each kind of layer, with the length up
    to which they are what they were trained as."""
    if not isinstance(parameters, dict):
        return
    for key in ("rope_type", "type"):
        if key in parameters:
            yield str(parameters[key]), parameters.get("original_max_position_embeddings")
    for parameter in parameters.values():
        yield from _ropes(parameter)
