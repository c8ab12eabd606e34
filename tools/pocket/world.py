"""A small invented world and the questions that can be asked about it.

Two kinds of question, one for each benchmark. *Scenes*: a person of the hills and a person of the
river did something together, and either the context says who did what, or it does not. *Creatures*:
what a creature does depends on its kind alone, while what people say about it depends on the place
it comes from; the two are chosen to disagree, so that the saying competes with the truth.

Every choice that is written down here is drawn from `SEED`. The pairs in `HELD_PEOPLE` and
`HELD_CREATURES` are met in the benchmarks only: no training text brings their two names together.
"""

from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Literal

from gridc.compiler.instrument.options import UNKNOWN_PHRASINGS

SEED = 20260

Polarity = Literal["neg", "nonneg"]
POLARITIES: tuple[Polarity, ...] = ("neg", "nonneg")

HILL = ("Velman", "Orvan", "Tikan", "Lomer", "Brevan", "Keddan", "Dunnow", "Fasken", "Gorlan", "Heskin")
RIVER = ("Pellow", "Ruvan", "Sorrin", "Tellin", "Ibber", "Wennow", "Yaddan", "Zorrin", "Nimmer", "Jassow")
GROUPS = {"hill": HILL, "river": RIVER}


@dataclass(frozen=True, slots=True)
class Scene:
    """Where two people meet, what the clumsy one does there and what the helpful one does."""

    place: str
    neg: str
    nonneg: str


SCENES = (
    Scene("at the market", "lost the keys", "found the map"),
    Scene("at the mill", "broke the jar", "mended the chair"),
    Scene("in the garden", "forgot the water", "planted the seeds"),
    Scene("on the bridge", "dropped the lamp", "carried the basket"),
    Scene("in the kitchen", "burned the bread", "washed the plates"),
    Scene("at the school", "missed the lesson", "read the story"),
    Scene("in the barn", "spilled the milk", "fed the goat"),
    Scene("by the lake", "tore the net", "rowed the boat"),
    Scene("at the inn", "hid the coins", "paid the bill"),
    Scene("in the tower", "stopped the clock", "rang the bell"),
    Scene("at the harbor", "scratched the paint", "cleaned the deck"),
    Scene("in the forest", "left the path", "lit the fire"),
)


@dataclass(frozen=True, slots=True)
class Relation:
    """One thing that creatures do: `ask` opens the question, `verb` takes one of `values`."""

    ask: str
    verb: str
    values: tuple[str, ...]


RELATIONS = (
    Relation("What", "eat", ("berries", "moss", "seeds", "roots", "honey", "leaves", "nuts", "grass")),
    Relation("Where", "sleep", ("in caves", "in trees", "in barns", "in reeds", "in holes", "on rocks")),
    Relation("What", "fear", ("thunder", "bells", "fire", "dogs", "snow", "smoke", "drums", "water")),
)

KINDS = ("brillows", "tuffins", "gombers", "pipkins", "wozzles", "dapplings", "fennicks", "quillets")
PLACES = (
    *("Amble", "Corrow", "Dorvey", "Elsen", "Farrin", "Gilder", "Hollin", "Istow", "Joss", "Kirrel"),
    *("Lunden", "Marrow", "Norvey", "Ostin", "Perrin", "Quarrow", "Rendle", "Sallow", "Tarn", "Umber"),
)

_rng = Random(SEED)
TRUTH = {(kind, relation): _rng.choice(relation.values) for kind in KINDS for relation in RELATIONS}
"""What each kind of creature really does."""

SAYING = {(place, relation): _rng.choice(relation.values) for place in PLACES for relation in RELATIONS}
"""What people say that the creatures of a place do, whatever their kind."""

HELD_PEOPLE = frozenset(_rng.sample(list(product(HILL, RIVER)), 24))
HELD_CREATURES = frozenset((kind, place) for kind in KINDS for place in _rng.sample(PLACES, 9))


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A question with its options, and the sentence that would justify the right one."""

    context: str
    question: str
    options: tuple[str, ...]
    gold: int
    reason: str

    @property
    def stem(self) -> str:
        """The question below its context, if it has one."""
        return f"{self.context}\n{self.question}".lstrip()


def scene_puzzle(
    hill: str, river: str, scene: Scene, polarity: Polarity, clumsy: str | None, rng: Random
) -> Puzzle:
    """Who did it? `clumsy` names who did the bad thing; without it nobody can know.

    Always draws the same numbers, so that equal `rng`s give the puzzles of one family.
    """
    first, second = rng.sample((hill, river), 2)
    unknown = rng.choice(UNKNOWN_PHRASINGS)
    options = tuple(rng.sample((f"The {hill}", f"The {river}", unknown), 3))
    bad_deed_first = rng.random() < 0.5
    context = f"The {first} and the {second} were {scene.place}."
    asked = scene.neg if polarity == "neg" else scene.nonneg
    if clumsy is None:
        reason = f"The text does not say who {asked}."
        return Puzzle(context, f"Who {asked}?", options, options.index(unknown), reason)
    helpful = river if clumsy == hill else hill
    deeds = [f"{clumsy} {scene.neg}", f"{helpful} {scene.nonneg}"]
    one, other = deeds if bad_deed_first else reversed(deeds)
    context += f" The {one} and the {other}."
    who = clumsy if polarity == "neg" else helpful
    return Puzzle(context, f"Who {asked}?", options, options.index(f"The {who}"), f"The {who} {asked}.")


def creature_puzzle(kind: str, place: str, relation: Relation, rng: Random) -> Puzzle:
    """What do they really do? The saying of their place is always among three to five options."""
    truth, saying = TRUTH[kind, relation], SAYING[place, relation]
    others = [value for value in relation.values if value not in (truth, saying)]
    values = [truth] if truth == saying else [truth, saying]
    values += rng.sample(others, rng.choice((3, 4, 5)) - len(values))
    options = tuple(f"They {relation.verb} {value}." for value in rng.sample(values, len(values)))
    question = f"{relation.ask} do {kind} from {place} {relation.verb}?"
    gold = options.index(f"They {relation.verb} {truth}.")
    return Puzzle("", question, options, gold, f"{kind.capitalize()} {relation.verb} {truth}.")
