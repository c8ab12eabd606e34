"""The tokens of a call, as the engine would send them. No weights are loaded."""

from collections.abc import Iterable
from dataclasses import dataclass

from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.engines.hf.trie import common_prefix
from gridc.runtime.engines.protocol import Call


@dataclass(frozen=True, slots=True)
class Tokenized:
    """`text` is what the model is sent, `pieces` its tokens as text and `ids` as numbers. The first `shared`
    tokens begin the prompts of all items that were compared. `dropped` exemplars were left out for want of
    room. Of a ranking `seam` is where the candidates begin, and `candidates` has the tokens of each."""

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    shared: int
    dropped: int
    seam: int
    candidates: tuple[tuple[str, ...], ...]


def tokenized(engine: HfEngine, call: Call, others: Iterable[Prompt]) -> Tokenized:
    """The tokens of a call beside the `others` that are asked in its cell. Raises `HazardError` for a prompt
    that cannot be asked as it is."""
    prompts = engine.prompts
    forms = [prompts.form(form, dropped) for dropped, form in enumerate(call.prompt.forms())]
    members = prompts.fitting(call, forms)
    form = forms[members[0].dropped]
    shared = len(form.ids)
    for other in others:
        shared = common_prefix([form.ids[:shared], prompts.form(other, 0).ids])

    def pieces(ids: Iterable[int]) -> tuple[str, ...]:
        return tuple(prompts.tokenizer.decode([number]) for number in ids)

    return Tokenized(
        form.text,
        form.ids,
        pieces(form.ids),
        shared,
        form.dropped,
        len(members[0].prompt),
        tuple(pieces(member.given) for member in members if member.given is not None),
    )
