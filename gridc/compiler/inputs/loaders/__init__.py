"""Loaders: the compiler's front ends. Each reads one upstream file format into items.

A loader is a pure function from a file and what the spec says of its loading to items in file order. To
add one, write it in a module here, add it to `LOADERS`, and its name to `LoaderName` in the language.
`docs/benchmarks.md` says of each which file it reads, which answer is right and what is odd about it.
"""

from collections.abc import Callable, Mapping

from gridc.compiler.inputs.loaders import (
    anthropic_evals,
    bbq,
    crows_pairs,
    mmlu,
    prompts,
    rows,
    scaffold_study,
    toxigen,
    truthfulqa,
)
from gridc.compiler.inputs.loaders.files import File
from gridc.compiler.instrument.item import Item
from gridc.schema.items import Loading

Loader = Callable[[File, Loading], list[Item]]

LOADERS: Mapping[str, Loader] = {
    "anthropic_evals": anthropic_evals.load,
    "bbq": bbq.load,
    "crows_pairs": crows_pairs.load,
    "mmlu": mmlu.load,
    "or_bench": prompts.load_or_bench,
    "rows": rows.load,
    "scaffold_study": scaffold_study.load,
    "toxigen": toxigen.load,
    "truthfulqa_mc1": truthfulqa.load,
    "xstest": prompts.load_xstest,
}
