"""Words of papers and other packages in the place of gridc's own, and what says there what they mean."""

import re
from collections.abc import Sequence

FUNCTION = 'a function says it: method = "scorer", scorer = {{ function = "python:scorers.py:NAME" }}'
NO_CODE = (
    "gridc runs no code: Inspect or EvalPlus do, and what came of each sample can be given (docs/plugins.md)"
)
TEXT_ALONE = "gridc asks texts alone: for pictures and sound use Inspect or VLMEvalKit"

VALUES = (
    ("method", r"(python:|plugin:).+|.+\.py.*", 'method = "scorer", scorer = {{ function = "{0}" }}'),
    ("method", r"perplexity|ppl|bpb|bits[ _-]per[ _-]byte|nll|loss", 'method = "text_likelihood"'),
    ("method", r"pass[@_ -].*", "aggregate = {{ pass_at = 5 }} beside another method. Of code: " + NO_CODE),
    ("method", r"(code|exec|sandbox|unit_?test|human_?eval).*", NO_CODE),
    ("method", r"exact|exact_match|em", 'method = "match", match = {{ as = "exact" }}; or as = "text"'),
    ("method", r"includes?|contains|number|numeric|text", 'method = "match", match = {{ as = ... }}'),
    ("method", r"regex|pattern|f1|bleu|rouge.*|chrf.*|comet", FUNCTION),
    ("method", r"multiple_choice|mc|acc|acc_norm|log_?probs?", 'did you mean `loglikelihood`, or `extract`?'),
    ("method", r"(llm|model|gpt).*", 'method = "judge", with a [judge]'),
    ("method", r"pairwise|preference|win_?rate|elo|arena", 'method = "judge", with compares in [judge]'),
    ("as", r"regex|pattern|f1|bleu|rouge.*|chrf.*", FUNCTION),
    ("aggregate", r"pass[@_ -]?(?:at)?[_ -]?(\d*)", "aggregate = {{ pass_at = {1} }}"),
    ("aggregate", r"(?:any|best)[@_ -]?(?:of)?[_ -]?(\d*)", "aggregate = {{ pass_at = {1} }}"),
    ("aggregate", r"(?:pass_?all|all|pass\^|min)[@_ -]?(\d*)", "aggregate = {{ pass_all = {1} }}"),
    ("aggregate", r"maj.*|vote|mode|self.consistency", "did you mean `majority`?"),
    ("all_of", r"pairs?|group|set|both", 'all_of = "family"; `loading.fields.family` names its column'),
    ("thinking", r"on|yes|enabled", "did you mean true, without quotes?"),
    ("thinking", r"off|no|none|disabled", "did you mean false, without quotes?"),
    ("tools", r".+", "`loading.fields.tools` is the column of an item's own tools, which need no name here. "
     "Known here: `calculator`, `text_search`, `scratchpad`"),
)  # fmt: skip
"""A key, what is stated of it, and a help: {0} is all that is stated, {1} the number in it."""

KEYS = (
    ((), r"images?|pictures?|audio|videos?|sound", TEXT_ALONE),
    (("judge",), r"temperature|top_p|seed", "leave it out: judges are asked at temperature 0"),
    (("match",), r"regex|pattern", FUNCTION),
    (("level",), r"source", "in the axis: levels = {{ source = ..., id = ..., prompt = ... }}"),
    (("values",), r"models?", 'models are levels already, which contrasts name by axis = "model"'),
)  # fmt: skip
"""The end of a table's path, a key that it does not have, and a help."""


def value_meant(path: Sequence[object], stated: object) -> str | None:
    """What says here what a value means elsewhere."""
    key = next((part for part in reversed(path) if isinstance(part, str)), None)
    for name, words, help in VALUES:
        found = re.fullmatch(words, str(stated), re.IGNORECASE) if name == key else None
        if found:
            return help.format(stated, found[1] or "5" if found.re.groups and "{1}" in help else "")
    return None


def key_meant(table: Sequence[object], key: str) -> str | None:
    """What says here what a key means elsewhere."""
    names = [part for part in table if isinstance(part, str)]
    for where, words, help in KEYS:
        if re.fullmatch(words, key, re.IGNORECASE) and (not where or tuple(names[-1:]) == where):
            return help.format()
    return None
