"""The long form of a code: what is wrong, why gridc cares, the way out, and where it helps an example.

Examples are fragments of a spec. What is wrong in them is marked `# not:`, what is right `# but:`.
"""

import textwrap

from gridc.diagnostics.codes import CODES

WIDTH = 90


def text(code: str) -> str:
    """As `gridc explain` prints it."""
    paragraphs = [f"{code}: {CODES[code].title}", textwrap.fill(CODES[code].explanation, WIDTH)]
    if code in EXAMPLES:
        paragraphs.append(textwrap.indent(EXAMPLES[code].strip("\n"), "    "))
    return "\n\n".join(paragraphs)


def markdown(code: str) -> str:
    """The same for code scanning services and documents."""
    example = f"\n\n```toml\n{EXAMPLES[code].strip()}\n```" if code in EXAMPLES else ""
    return f"{CODES[code].explanation}{example}"


EXAMPLES: dict[str, str] = {
    "GC001": """
title = "Do models keep their order?     # not: the quote is never closed
title = "Do models keep their order?"    # but
""",
    "GC003": """
[budget]
usd = inf      # not
# but: leave `usd` out where there is no limit
""",
    "GC101": """
[[axis.level]]
id = "warm"
temprature = 0.7     # not
temperature = 0.7    # but
""",
    "GC102": """
[harness]
shots = "3"    # not: text
shots = 3      # but: a whole number
""",
    "GC103": """
[[axis.level]]
id = "T1"
prompt = "builtin:T1"
# not: who says so, and how common is it? but:
tier = "core"
provenance = "minimal prompt of the benchmark's own paper (Parrish 2022, sec. 3)"
""",
    "GC104": """
[[axis.level]]
tier = "main"    # not
tier = "core"    # but: core or stress
""",
    "GC105": """
[[model]]
id = "gpt"
engine = "hf"               # not: torch cannot run a provider's model
engine = "api"              # but
source = "openai/gpt-4o"
""",
    "GC202": """
[[slice]]
id = "calm"
declared = "ex_ante"
where = { decoding = "gredy" }     # not: the axis has `greedy` and `warm`
where = { decoding = "greedy" }    # but
""",
    "GC301": """
[[exclude]]
when = { benchmark = "bbq" }    # not: every configuration of bbq. but: leave [[benchmark]] bbq out
why = "BBQ is not asked"
""",
    "GC302": """
[harness]
method = "extract"    # what every call has unless an axis, a benchmark or a model says otherwise
""",
    "GC303": """
[[exclude]]
when = { scoring = "rank", normalise = { not = "none" } }
why = "... "          # but: keep one level of an axis that does nothing under another one

[[axis.level]]
id = "nucleus"
temperature = 0.0
top_p = 0.9           # not: greedy decoding has no nucleus, so this is `greedy` again
""",
    "GC304": """
[[axis]]
id = "decoding"       # its levels set `temperature`
[[axis]]
id = "creativity"     # not: its levels set `temperature` too. but: make them levels of `decoding`
""",
    "GC305": """
[[exclude]]
when = { scoring = "logprob", decoding = "greedy", template = "T5" }    # not: nothing has all three
why = "..."
""",
    "GC306": """
[[exclude]]
when = { scoring = "logprob", decoding = "warm" }
why = "a ranking is not sampled"

[[slice]]
id = "warm_rankings"
declared = "ex_ante"
where = { scoring = "logprob", decoding = "warm" }    # not: all of it is excluded above
""",
    "GC308": """
source = "path:../shared/items.jsonl"    # not
source = "data:items.jsonl"              # but, with `--data ../shared` or GRIDC_DATA=../shared
""",
    "GC310": """
prompt = "{{ question }} Answer: {{ anser }}"     # not
prompt = "{{ question }} Answer: {{ answer }}"    # but
""",
    "GC311": """
[[benchmark]]
sample = { n = 80, seed = 42 }           # 80 of the file's 82 items leave 2
exemplars = { pool = "rest", seed = 42 } # not: 5 shots need 5. but: n = 77
""",
    "GC313": """
[[exclude]]
when = { scoring = "logprob", decoding = { not = "greedy" } }    # but
why = "a likelihood ranking is deterministic over its candidates"
""",
    "GC333": """
[benchmark.loading.fields]
gold = "answr"     # not: the file's columns are question, a, b, c, answer
gold = "answer"    # but
""",
    "GC334": """
[benchmark.loading]
gold = "one_based"    # not: 18 rows are 0
gold = "index"        # but: counted from 0. Or leave `gold` out: it is found out, and said
""",
    "GC501": """
prompt = "{{ stem }} Answer with a letter."        # not: which letters?
prompt = "{{ question }} Answer with a letter."    # but: `question` has the lettered options
""",
    "GC502": """
prompt = "{{ question }}"                          # not: an exemplar would be a question without answer
prompt = "{{ question }} Answer: {{ answer }}"     # but: `answer` is empty for the item that is asked
""",
}
