"""Judges: who assesses responses that no rule can score, and what they may not see."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gridc.schema.base import Id, Table, Text
from gridc.schema.effects import Precision
from gridc.schema.engines import EngineName, engine_for
from gridc.schema.provider import Endpoint

MOST_TOKENS = 256
"""Tokens of a judge's longest reply, where a spec does not say."""
REASKS = 2
"""How often a judge is asked again for a reply that can be read, where a spec does not say."""


class Assessor(Endpoint):
    """A model that judges. It is none of those that are compared."""

    source: Annotated[Text, Field(description="The model, as in [[model]]; never one of the candidates.")]
    engine: Annotated[
        EngineName | None,
        Field(description="As in [[model]]. Default: hf where the source is of files, else api."),
    ] = None
    revision: Annotated[Text | None, Field(description="As in [[model]].")] = None
    digest: Annotated[str | None, Field(pattern=r"^[0-9a-f]{64}$", description="As in [[model]].")] = None
    chat_template_args: Annotated[
        dict[str, bool | int | float | str] | None, Field(description="As in [[model]].")
    ] = None
    precision: Annotated[
        Precision | None,
        Field(description="As in [[model]]: fp32, bf16, fp16, int8, nf4 or as_shipped. Default: fp32."),
    ] = None
    max_tokens: Annotated[
        int | None, Field(ge=1, description=f"Tokens of its longest reply. Default: {MOST_TOKENS}.")
    ] = None

    def as_model(self, name: str) -> dict[str, Any]:
        """The keys of the `[[model]]` that this would be under that id."""
        keys = {key: getattr(self, key) for key in Assessor.model_fields if key != "max_tokens"}
        engine = self.engine or engine_for(self.source)
        return {**keys, "id": name, "engine": engine}


class Blinding(Table):
    """What a judge may not see (Bang et al. 2004)."""

    sanitise: Annotated[bool, Field(description="Strip what shows the configuration from the response.")]
    seed: Annotated[int, Field(ge=0, description="Seeds the order in which responses are judged.")]
    guess_share: Annotated[
        float,
        Field(ge=0, le=1, description="Share of responses whose configuration the judge is asked to guess."),
    ] = 0.0
    index: Annotated[
        Literal["bang"] | None, Field(description="The blinding index that is reported. Default: none.")
    ] = None


class Validation(Assessor):
    """A second judge on part of the responses. Where it is a candidate it never judges its own ones."""

    source: Annotated[Text, Field(description="The model, as in [[model]].")]
    share: Annotated[float, Field(gt=0, le=1, description="Share of the responses, stratified.")]
    kappa: Annotated[float, Field(ge=-1, le=1, description="Least agreement (Cohen's kappa) that passes.")]
    below: Annotated[
        Literal["report", "rescore"] | None,
        Field(
            description="What follows from less agreement. report: it is said; rescore: the second judge "
            "labels every response, and its labels count. Default: report."
        ),
    ] = None


class PanelJudge(Assessor):
    """One more judge, who is asked as the first one is."""

    id: Annotated[Id, Field(description="How reports call it.")]
    rubric: Annotated[
        Text | None, Field(description="builtin:, path:, or the rubric itself. Default: the first judge's.")
    ] = None


class Judge(Assessor):
    """Who assesses responses that no rule can score."""

    rubric: Annotated[
        Text,
        Field(
            description="builtin:, path:, or the rubric itself: a template that may print the item's "
            "{{ stem }}, {{ right }} (its right answers) and {{ expected }} (comply or refuse)."
        ),
    ]
    labels: Annotated[
        tuple[Id, ...], Field(min_length=2, description="The verdicts that the judge may return.")
    ]
    confidence: Annotated[
        int | None,
        Field(
            ge=2,
            le=100,
            description="The judge also says how sure it is, from 1 to this. Default: it does not.",
        ),
    ] = None
    reasks: Annotated[
        int | None,
        Field(
            ge=0,
            le=10,
            description=f"How often a judge is asked again whose reply cannot be read. Default: {REASKS}.",
        ),
    ] = None
    backup: Annotated[
        Assessor | None,
        Field(description="Who is asked where the judge gives no verdict that can be read. Default: none."),
    ] = None
    validation: Annotated[Validation | None, Field(description="Default: none.")] = None
    panel: Annotated[
        tuple[PanelJudge, ...] | None,
        Field(min_length=1, description="Further judges of every response. Default: none."),
    ] = None
    verdict: Annotated[
        Literal["majority", "unanimous"] | None,
        Field(
            description="How several judges come to one label. majority: the label that most of them give; "
            "unanimous: the one that all give; otherwise the response counts as unreadable. Needed by "
            "`panel`."
        ),
    ] = None
    blinding: Annotated[Blinding | None, Field(description="Default: the judge is not blinded.")] = None

    @property
    def assessors(self) -> dict[str, Assessor]:
        """Everyone who judges, by the name under which reports and stores have it: the judge first."""
        by_name: dict[str, Assessor] = {JUDGE: self}
        by_name |= {panel_name(judge.id): judge for judge in self.panel or ()}
        if self.backup is not None:
            by_name[BACKUP] = self.backup
        if self.validation is not None:
            by_name[SECOND] = self.validation
        return by_name

    @property
    def jury(self) -> tuple[str, ...]:
        """Those who judge every response."""
        return (JUDGE, *(panel_name(judge.id) for judge in self.panel or ()))


JUDGE, BACKUP, SECOND = "judge", "judge.backup", "judge.validation"
GUESS = "judge.guess"
"""The judge, asked which configuration a response came from."""


def panel_name(identifier: str) -> str:
    """The name of a further judge."""
    return f"{JUDGE}.{identifier}"
