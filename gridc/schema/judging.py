"""Judges: who assesses responses that no rule can score, and what they may not see."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import Id, Table, Text


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


class Validation(Table):
    """A second judge on part of the responses."""

    source: Annotated[Text, Field(description="The model, as in [[model]].")]
    share: Annotated[float, Field(gt=0, le=1, description="Share of the responses, stratified.")]
    kappa: Annotated[float, Field(ge=-1, le=1, description="Least agreement (Cohen's kappa) that passes.")]


class PanelJudge(Table):
    """One more judge, who is asked as the first one is."""

    id: Annotated[Id, Field(description="How reports call it.")]
    source: Annotated[Text, Field(description="The model, as in [[model]]; never one of the candidates.")]
    rubric: Annotated[
        Text | None, Field(description="builtin:, path:, or the rubric itself. Default: the first judge's.")
    ] = None


class Judge(Table):
    """Who assesses responses that no rule can score."""

    source: Annotated[Text, Field(description="The model, as in [[model]]; never one of the candidates.")]
    rubric: Annotated[Text, Field(description="builtin:, path:, or the rubric itself.")]
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
