"""Semantic checks: what is wrong with a spec although its shape is right.

Each check has one signature and yields diagnostics. A stage may assume that the stages before it
found nothing: the meaning of a selector is asked only once its names are known to exist.
"""

from gridc.compiler.frontend.checks import envelope, inference, levels, names, scoring
from gridc.compiler.frontend.checks import inference as binds
from gridc.compiler.frontend.checks import scoring as conduct
from gridc.compiler.frontend.checks.envelope import Check
from gridc.compiler.frontend.source import Source
from gridc.diagnostics.errors import Collector
from gridc.schema.spec import Spec

STAGES: tuple[tuple[Check, ...], ...] = (
    (
        names.unique_ids,
        names.tiers_known,
        names.selector_names,
        names.references,
        names.disjoint_names,
        names.waived_codes,
        binds.forks_bind,
    ),
    (levels.countable, scoring.patterns_compile),
    (levels.drawable,),
    (levels.sources, inference.needed_keys, conduct.scaffolds, scoring.judges_declared),
    (
        levels.disjoint_axes,
        levels.parts_in_order,
        levels.free_parameters,
        levels.distinct_levels,
        levels.held_fixed,
        levels.exemplars_from,
        levels.required_keys,
        inference.curves_hold_something,
        binds.choices_change,
    ),
    (
        envelope.selectors_select,
        envelope.meaningful_configurations,
        envelope.variants_exist,
        scoring.judges_asked,
        scoring.statistics_measure,
        scoring.matches_stated,
        scoring.scorers_stated,
        scoring.labels_score,
        scoring.options_given,
        scoring.functions_sent,
        scoring.schemas_sent,
        conduct.items_asked_whole,
        inference.sides,
    ),
    (
        envelope.distinct_configurations,
        conduct.texts_to_read,
        conduct.exemplars_dropped,
        conduct.thoughts_end,
    ),
)


def check_spec(spec: Spec, source: Source) -> None:
    """Raise `SpecError` with every finding of the first stage that has any."""
    for stage in STAGES:
        collector = Collector()
        for rule in stage:
            for diagnostic in rule(spec, source):
                collector.add(diagnostic)
        collector.raise_if_any()
