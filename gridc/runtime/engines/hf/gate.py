"""How a model is computed, decided by proof: each path is compared with the model itself, or with a twin of
it.

Sequences of random tokens go through the model's own attention, in each implementation it has, and through
the path: trunk, stems and steps, with branches in the stems and in the steps. Logits are compared at every
position. How far they may differ is measured by what attention is worth in this very model: how much the
logits behind the same tokens change when what stood before them is another text. So a wrong attention is seen
in a model whose weights are random too.

In another precision than fp32 rounding moves logits by itself, and a router that rounds at a near tie takes
another expert, so a comparison there cannot tell rounding from a wrong attention. What can be wrong is code,
and the same code runs in a twin: a model of the same class and configuration in fp32, with fewer and narrower
layers. A twin has as many of the model's first layers as show every kind of layer that it has, feed-forward
parts and a vocabulary of a few numbers, heads, windows and positions as they are, and random weights that
make attention decisive. The twin proves a path; on the model itself its noise is measured and refuses
nothing.
"""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from math import inf
from typing import Any, Literal

import torch
from transformers.pytorch_utils import Conv1D

from gridc.runtime.engines.hf.attention import NAME as FOREST_ATTENTION
from gridc.runtime.engines.hf.attention import Softmax, UnsupportedAttention, viewing
from gridc.runtime.engines.hf.forest import Forest
from gridc.runtime.engines.hf.kv_cache import Shape
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
from gridc.runtime.engines.hf.sampling import NonFiniteLogitsError
from gridc.runtime.engines.hf.sequences import Member

SEEDS = (0, 1, 2)
"""Of the twins that may prove a path. Among many experts a near tie is met now and then in fp32 too; a wrong
attention is wrong in each of them."""

WORDS, NARROW = 512, 32
"""Words of a twin, and how wide its feed-forward parts are."""

SPREAD, LOGITS = 1.2, 3.0
"""Standard deviation of what a matrix makes of numbers with deviation 1, and of the logits."""

SMALL, SHARE = 2**28, 8
"""Most numbers that a twin may have, or one for so many of the model's where that is more."""

_DEPTHS = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64)
_WIDE, _NUMBER = re.compile("intermediate|ffn|n_inner"), frozenset({"layer_idx", "layer_id", "training"})


class NoTwinError(ValueError):
    """No smaller model runs the code of this one."""


def code_path(model: Any) -> frozenset[tuple[Any, ...]]:
    """What decides which code a model runs: the classes of its modules; of those that know which layer they
    are of, and of rotary embeddings, each switch, count and name that they hold; and the implementation of
    attention. Fractions are left out: they are numbers that all code takes. So is what a twin has less of."""
    facts: set[tuple[Any, ...]] = {("attention", own_attention(model))}
    for module in model.modules():
        # bitsandbytes puts classes of its own in the place of linear ones.
        name = "Linear" if isinstance(module, torch.nn.Linear) else type(module).__name__
        facts.add((name,))
        if hasattr(module, "layer_idx") or hasattr(module, "layer_id") or hasattr(module, "inv_freq"):
            facts.add((name, *_switches(module)))
    return frozenset(facts)


def _switches(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(module).items()):
        private = name.startswith("_") or name in _NUMBER or "max_seq_len" in name
        if not private and not _WIDE.search(name) and (value is None or isinstance(value, bool | int | str)):
            yield name, value


def twin_of(model: Any, seed: int) -> Any:
    """A twin of a model, on its device. Raises `NoTwinError`."""
    wanted, own = code_path(model), own_attention(model)
    most = max(SMALL, sum(weight.numel() for weight in model.parameters()) // SHARE)
    why = "none of its layers could be left out"
    for config in _smaller(model.config, own):
        try:
            with torch.device("meta"):
                sketch = type(model)._from_config(copy.deepcopy(config), dtype=torch.float32)
        except MemoryError:
            raise
        except Exception as error:  # whatever the code of an architecture raises
            why = str(error).strip().partition("\n")[0][:120] or type(error).__name__
            continue
        if not wanted <= code_path(sketch):
            continue
        numbers = sum(weight.numel() for weight in sketch.parameters())
        if numbers > most:
            raise NoTwinError(f"it would have {numbers:,} numbers, where {most:,} may be")
        return _decisive(type(model), config, model.device, seed)
    raise NoTwinError(why)


def _smaller(config: Any, own: str) -> Iterator[Any]:
    """Configurations with less of everything, from the least on: first narrow ones, then as wide as it is."""
    layers = getattr(config.get_text_config(decoder=True), "num_hidden_layers", None) or 1
    depths = sorted({min(depth, layers) for depth in _DEPTHS} | {layers})
    for narrow in (True, False):
        for depth in depths:
            smaller = copy.deepcopy(config)
            smaller._attn_implementation = own
            for name in ("quantization_config", "_pre_quantization_dtype"):
                vars(smaller).pop(name, None)
            text = smaller.get_text_config(decoder=True)
            _shorten(text, layers, depth)
            if narrow:
                _narrow(text)
                for name in getattr(type(smaller), "sub_configs", ()):
                    part = getattr(smaller, name, None)
                    if part is not None and part is not text:
                        _shorten(part, getattr(part, "num_hidden_layers", None) or 0, 1)
            yield smaller


def _shorten(config: Any, layers: int, depth: int) -> None:
    """Leave the first layers, and of what is listed layer by layer as much."""
    if depth >= layers:
        return
    config.num_hidden_layers = depth
    for name, value in list(vars(config).items()):
        if isinstance(value, list | tuple) and len(value) == layers:
            vars(config)[name] = value[:depth]
        elif type(value) is int and value == layers and "layer" in name:
            vars(config)[name] = depth  # what a decoder has of its own, beside `num_hidden_layers`


def _narrow(config: Any) -> None:
    for name, value in list(vars(config).items()):
        if "vocab_size" in name and type(value) is int:
            vars(config)[name] = min(value, WORDS)
        elif _WIDE.search(name) and type(value) is int:
            vars(config)[name] = min(value, NARROW)
        elif name == "n_inner" and value is None:
            vars(config)[name] = NARROW
        elif name.endswith("token_id") and _outside_vocabulary(value):
            vars(config)[name] = None


def _outside_vocabulary(tokens: Any) -> bool:
    every = tokens if isinstance(tokens, list) else [tokens]
    return any(isinstance(token, int) and token >= WORDS for token in every)


def _decisive(kind: Any, config: Any, device: torch.device, seed: int) -> Any:
    """A model with random weights of which each makes a difference."""
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(seed)
        model = kind._from_config(config, dtype=torch.float32).eval()
        ids = torch.randint(3, min(WORDS, config.get_text_config(decoder=True).vocab_size), (1, 64))
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    with torch.no_grad():
        for module in model.modules():
            if module is head:
                continue
            if isinstance(module, torch.nn.Linear | Conv1D):
                inputs = module.weight.shape[0 if isinstance(module, Conv1D) else 1]
                _spread(module.weight, SPREAD / inputs**0.5)
            elif not isinstance(module, torch.nn.Embedding):
                for weight in module.parameters(recurse=False):
                    if weight.dim() == 3 and min(weight.shape[1:]) > 4:  # the experts of a layer
                        _spread(weight, SPREAD / max(weight.shape[1:]) ** 0.5)
        if head is not None:
            use_attention(model, own_attention(model))
            spread = float(model(input_ids=ids, use_cache=False).logits.float().std())
            tied = head.weight is getattr(embedding, "weight", None)
            if spread > 0:
                head.weight.mul_((LOGITS / spread) ** (0.5 if tied else 1.0))
    return model


def _spread(weight: torch.Tensor, wanted: float) -> None:
    """Give a matrix a standard deviation, unless it is constant."""
    found = float(weight.std()) if weight.numel() > 1 else 0.0
    if found > 0:
        weight.mul_(wanted / found)


TOLERANCE = 1e-3
"""Most by which a logit may differ in fp32, times the worth of attention where that is below 1."""

SEEN = 0.1
"""The largest tolerance, as a share of the worth of attention, at which a wrong attention is still seen."""

ROUNDING = 1e-6
"""What fp32 makes of a logit of 1 by itself, at most."""

LEAST, MOST = 320, 1344
"""Tokens of a trial: beyond every window and chunk of the model up to the most."""

STEPS, FORK, ENDS = 24, 60, 12
"""Tokens behind the prompts of a trial; where a prompt leaves another (percent); where a path ends early."""

LEAVES = ((0, 5), (0, 9), (3, 15))
"""For each path behind the first prompt: which one it leaves, and after how many tokens."""

_WINDOW, _COUNT = re.compile("window|chunk"), re.compile("max_|pattern|layers")
_STATIC_ROPES = frozenset({"default", "linear", "yarn", "llama3", "proportional"})


class NoProvedPath(ValueError):
    """No path gives what the model gives."""


@dataclass(frozen=True, slots=True)
class PathTrial:
    """How a path did beside a model of so many `layers` itself, over `tokens` positions: `deviation` is the
    largest difference of a logit, `noise` that between the model's own implementations of attention, `worth`
    how much the logits behind the same tokens depend on what stood before."""

    tokens: int
    worth: float
    noise: float
    deviation: float
    layers: int

    def manifest(self) -> dict[str, Any]:
        """What the store keeps of it."""
        numbers = {"tokens": self.tokens, "worth": self.worth, "noise": self.noise}
        return {**numbers, "deviation": self.deviation}


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
        """What the store keeps of it."""
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
        """As a configuration declares them."""
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
    """A model on which paths are tried."""

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
    tokens = max(min(wanted, limit or MOST, most, MOST), STEPS + 8)
    itself = _References(subject, tokens)
    judges = [itself.required()] if twins is None else _judges(twins, tokens)
    decisive = bool(judges) and judges[0].decisive
    if twins is not None and twins.why and not judges:
        reasons.append(twins.why)
    elif not decisive:
        reasons.append(f"what stands before a token moves its logits by no more than {judges[0].worth:.2g}")
    forms: list[tuple[int | None, PathForm]] = []
    if not reasons:
        forms.append((limit, PathForm("forest", window)))
    if static != 0 and decisive:
        forms += [(static, PathForm("cached", room=room, prefixes=prefixes)) for prefixes in (True, False)]
    forms.append((None, PathForm("plain")))
    for reach, form in forms:
        proof = _proof(judges, form)
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


def _judges(twins: _Twins, tokens: int) -> "list[_References]":
    """What the twins themselves give. Raises `NoProvedPath` where each of them is refused."""
    judges, refused = [], None
    for twin in twins:
        try:
            judges.append(_References(twin, tokens).required())
        except NoProvedPath as error:
            refused = error
    if refused and not judges:
        raise refused
    return judges


def _proof(judges: "Sequence[_References]", form: PathForm) -> PathTrial | str | None:
    """The first trial that proves a path, else why the first of them does not; None without any trial."""
    first: str | None = None
    for judge in judges:
        outcome = _attempt(judge, form)
        if isinstance(outcome, PathTrial):
            return outcome
        first = first or outcome
    return first


def _attempt(references: "_References", form: PathForm, measured: bool = False) -> PathTrial | str:
    """A path's trial, or the reason why it is not taken. Where noise is `measured`, none refuses it."""
    comparison = _Comparison(references)
    try:
        path = form.of(references.subject, comparison.watch)
        trunk, cuts, members = references.work()
        path.decode(trunk, cuts, members, frozenset())
    except (UnsupportedAttention, NonFiniteLogitsError) as error:
        return str(error)
    except Exception as error:  # whatever the code of an architecture raises where it is asked otherwise
        text = str(error).strip().partition("\n")[0][:120]
        return f"its code does not take part ({type(error).__name__}: {text})"
    name, most = path.name, references.tolerance
    if comparison.seen != references.needed_tokens:
        return f"the {name} path leaves positions out"
    if not comparison.deviation <= (inf if measured else most):
        if name == "plain":
            moved = f"{comparison.deviation:.2g} in a logit"
            return f"what it gives behind the same tokens depends on how long its input is, by {moved}"
        return f"the {name} path moves logits by {comparison.deviation:.2g} where {most:.2g} may be"
    layers = getattr(references.subject.config, "num_hidden_layers", None) or 1
    return PathTrial(references.tokens, references.worth, references.noise, comparison.deviation, layers)


class _References:
    """What a model itself gives: sequences that share their beginnings, and one that tells what a beginning
    is worth."""

    def __init__(self, subject: _Subject, tokens: int) -> None:
        self.subject, self.tokens = subject, tokens
        model, own = subject.model, subject.own
        sequences, other = _sequences(subject.config, tokens)
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
                except (ValueError, ImportError, NotImplementedError, RuntimeError):
                    continue  # it has no such implementation
        for logits in (*self.logits, elsewhere):
            if not bool(logits.isfinite().all()):
                raise NonFiniteLogitsError("its logits are not finite (NaN or infinity)")
        half = tokens // 2
        self.worth = float((first[0, half:] - elsewhere[half:]).abs().max())
        self.noise = max((float((first[0] - logit[0]).abs().max()) for logit in self.logits[1:]), default=0.0)
        self.tolerance = max(ROUNDING * float(first.abs().max()), TOLERANCE * min(1.0, self.worth))
        self.decisive = self.tolerance <= SEEN * self.worth

    def required(self) -> "_References":
        """Itself. Raises `NoProvedPath` where the model is not causal, or not one model."""
        first, fork = self.logits[0], self.tokens * FORK // 100
        if not float((first[0, :fork] - first[1, :fork]).abs().max()) <= self.tolerance:
            raise NoProvedPath("a token changes the logits before it, so this is not a causal language model")
        if self.noise > self.tolerance:
            raise NoProvedPath(
                f"its own implementations of attention differ by {self.noise:.2g} in a logit where "
                f"{self.tolerance:.2g} may be: what it answers would depend on which is taken"
            )
        return self

    def work(self) -> tuple[tuple[int, ...], tuple[int, ...], list[Member]]:
        """A trunk in two stretches, two prompts that share more than it, and paths behind them: rows part,
        one ends before the others, and those behind it move up."""
        start, quarter = self.tokens - STEPS, self.tokens // 4
        ends = [self.tokens, self.tokens, start + ENDS, self.tokens, self.tokens]
        paths = list(zip(self._sequences, ends, strict=True))
        members = [Member("", path[:start], end - start, given=path[start:end]) for path, end in paths]
        return self._sequences[0][:quarter], (quarter // 2, quarter), members

    @property
    def needed_tokens(self) -> frozenset[tuple[int, int]]:
        """The tokens, at their positions, behind which a path has to compute something."""
        _, _, members = self.work()
        whole = [(*member.prompt, *(member.given or ()))[:-1] for member in members]
        return frozenset((at, token) for path in whole for at, token in enumerate(path))


def _sequences(config: Any, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Five sequences of random tokens: the first; one that leaves it in the prompt; and behind the prompt of
    the first one that leaves it, another one later, and one that leaves that. At no position do two of them
    have the same token once they have parted. And the second half of the first behind another beginning."""
    vocabulary = int(config.vocab_size)
    generator = torch.Generator().manual_seed(20)
    main, other = torch.randint(0, vocabulary, (2, tokens), generator=generator)
    special = [getattr(config, name, None) for name in ("pad_token_id", "eos_token_id", "bos_token_id")]
    flat = [token for part in special for token in (part if isinstance(part, list) else [part])]
    sequences = [main]
    start = tokens - STEPS
    for parent, leaves in ((0, tokens * FORK // 100), *((of, start + after) for of, after in LEAVES)):
        aside = (main + 1 + 7 * len(sequences)) % vocabulary
        sequences.append(torch.cat([sequences[parent][:leaves], aside[leaves:]]))
    avoided = torch.tensor([token for token in flat if token is not None] or [-1])
    whole = torch.stack(sequences)
    if vocabulary > 64:
        # A special token may mean something to the model's code, such as padding.
        whole[torch.isin(whole, avoided)] = vocabulary // 2
    return whole, torch.cat([other[: tokens // 2], whole[0, tokens // 2 :]])


@dataclass(slots=True)
class _Comparison:
    """Holds what a path computes against the references, position by position."""

    references: _References
    deviation: float = 0.0
    seen: frozenset[tuple[int, int]] = field(default_factory=frozenset)

    def watch(self, positions: Sequence[int], tokens: Sequence[int], logits: torch.Tensor) -> None:
        """What a path computed: logits (tokens, vocabulary) behind tokens at positions."""
        places = list(zip(positions, tokens, strict=True))
        at = torch.tensor([self.references.places[place] for place in places])
        self.seen |= frozenset(places)
        for number, own in enumerate(self.references.logits):
            kept = at[:, 0] < own.shape[0] if number else torch.ones(len(at), dtype=torch.bool)
            if bool(kept.any()):
                rows, columns = at[kept].to(own.device).unbind(-1)
                difference = (logits[kept.to(logits.device)] - own[rows, columns]).abs().max()
                # A comparison with NaN is false, so NaN has to stay.
                self.deviation = float(torch.maximum(difference, difference.new_tensor(self.deviation)))


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
