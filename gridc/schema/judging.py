"""Judges: who assesses responses that no rule can score, and what they may not see."""

from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gridc.schema.base import Contradiction, Id, Table, Text
from gridc.schema.effects import Precision
from gridc.schema.models import Endpoint, EngineName, engine_for
from gridc.schema.scores import DIGITS, PREFERENCE_SCORES, PREFERENCES, Points, Scores, evenly

MOST_TOKENS = 256
"""Tokens of a judge's longest reply, where a spec does not say."""
REASKS = 2
"""How often a judge is asked again for a reply that can be read, where a spec does not say."""
ReplyForm = Literal["json", "brackets", "verdict", "last_line"]
"""Where the label stands in a judge's reply."""
NO_CLAIM = "0/0"
"""The label of a response that claims nothing."""
MOST_CLAIMS = 30
"""Claims that a reply may list, where a spec does not say."""


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


class RatingScale(Table):
    """Whole numbers that a judge rates responses with."""

    model_config = ConfigDict(populate_by_name=False, serialize_by_alias=True)

    first: Annotated[int, Field(ge=0, le=100, alias="from", description="The least number, which earns 0.")]
    last: Annotated[int, Field(ge=0, le=100, alias="to", description="The greatest one, which earns 1.")]

    @model_validator(mode="after")
    def _upwards(self) -> Self:
        if self.last <= self.first:
            raise Contradiction(
                f"a scale from {self.first} to {self.last} has no second number",
                "scale = { from = 1, to = 10 }",
            )
        return self

    @property
    def numbers(self) -> tuple[str, ...]:
        """The labels, the least first."""
        return tuple(str(number) for number in range(self.first, self.last + 1))


class ClaimCount(Table):
    """A judge lists the claims of a response and labels each; the score is the share that one label has."""

    of: Annotated[Id, Field(description="The label whose share is the score.", examples=["supported"])]
    among: Annotated[
        tuple[Id, ...],
        Field(
            min_length=2,
            description="The labels that a claim may get.",
            examples=[["supported", "unsupported"]],
        ),
    ]
    empty: Annotated[Points, Field(description="What a response without any claim earns, 0 to 1.")]
    most: Annotated[
        int | None,
        Field(ge=1, le=100, description=f"Most claims of a response. Default: {MOST_CLAIMS}."),
    ] = None

    @model_validator(mode="after")
    def _labels_of_claims(self) -> Self:
        if len(set(self.among)) < len(self.among):
            raise Contradiction("a label stands twice in `among`", "name each label once")
        if self.of not in self.among:
            help = f"add `{self.of}` to `among`, or count one of {', '.join(self.among)}"
            raise Contradiction(f"no claim can be labelled `{self.of}`", help)
        return self

    @property
    def limit(self) -> int:
        return self.most or MOST_CLAIMS

    @property
    def shares(self) -> tuple[str, ...]:
        """The labels of a response: 0/0, 0/1, 1/1, 0/2, ..."""
        return (NO_CLAIM, *(f"{count}/{n}" for n in range(1, self.limit + 1) for count in range(n + 1)))

    @cached_property
    def scores(self) -> Scores:
        """What they earn: the share, rounded as the number of a function is."""
        return Scores({share: self._points(*map(int, share.split("/"))) for share in self.shares})

    def _points(self, count: int, claims: int) -> float:
        return round(count / claims, DIGITS) if claims else self.empty


class Compares(Table):
    """What a judge compares each response with."""

    against: Annotated[
        Id,
        Field(
            description="Another model of the study, whose response to the same item in the same "
            "configuration it is; or reference, the item's right answer: the gold option, or the first of "
            "`fields.references`.",
            examples=["gpt-4", "reference"],
        ),
    ]
    swap: Annotated[
        bool,
        Field(
            description="Ask twice, with the response as A and as B: it wins or loses where both replies say "
            "so, and it is a tie where they differ. Otherwise it is always A."
        ),
    ]


REFERENCE = "reference"
"""What stands for the item's own text in `compares.against`."""


class Judge(Assessor):
    """Who assesses responses that no rule can score."""

    id: Annotated[
        Id | None,
        Field(description="How the key `judge` of a call names it. Needed in [[judge]]. Default: none."),
    ] = None
    rubric: Annotated[
        Text,
        Field(
            description="builtin:, path:, or the rubric itself: a template that may print the item's "
            "{{ stem }}, {{ right }} (its right answers), {{ expected }} (comply or refuse) and further "
            "columns, {{ extra.NAME }}."
        ),
    ]
    labels: Annotated[
        tuple[Id, ...] | None,
        Field(
            min_length=2,
            description="The verdicts that the judge may return. Needed unless it has a `scale`, `counts` or "
            "`compares`.",
        ),
    ] = None
    scale: Annotated[
        RatingScale | None,
        Field(
            description="It rates with a whole number, in place of `labels`; its score is where the number "
            "lies on the scale. Default: none.",
            examples=[{"from": 1, "to": 10}],
        ),
    ] = None
    counts: Annotated[
        ClaimCount | None,
        Field(
            description="It lists the claims of a response and labels each, in place of `labels`; the score "
            "is the share that gets one of the labels. Default: none.",
            examples=[{"of": "supported", "among": ["supported", "unsupported"], "empty": 0}],
        ),
    ] = None
    compares: Annotated[
        Compares | None,
        Field(
            description="It says which of two responses is better, A, B or tie, in place of `labels`. The "
            "labels of a response are win, tie and loss. Default: none.",
            examples=[{"against": "gpt-4", "swap": True}],
        ),
    ] = None
    confidence: Annotated[
        int | None,
        Field(
            ge=2,
            le=100,
            description="The judge also says how sure it is, from 1 to this. Default: it does not.",
        ),
    ] = None
    reply: Annotated[
        ReplyForm | None,
        Field(
            description="Where its label stands. json: one object and nothing else; brackets: the last "
            "[[label]]; verdict: behind the last Verdict:, Rating: or the like; last_line: alone on the last "
            "line. What it thinks first does not count. Default: json."
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

    @model_validator(mode="after")
    def _one_kind_of_verdict(self) -> Self:
        stated = [f"`{key}`" for key in VERDICTS if getattr(self, key) is not None]
        if not stated:
            help = (
                'labels = ["right", "wrong"]; or scale = { from = 1, to = 10 }; or '
                'counts = { of = "supported", among = ["supported", "unsupported"], empty = 0 }; or '
                'compares = { against = "reference", swap = true }'
            )
            raise Contradiction("what the judge may say is missing", help)
        if len(stated) > 1:
            raise Contradiction(f"a judge has one of {' and '.join(stated)}", "leave out all but one of them")
        more = [f"`{key}`" for key in ("counts", "confidence") if getattr(self, key) is not None]
        if more and self.reply not in (None, "json"):
            problem = f"a reply with {' and '.join(more)} is a JSON object"
            raise Contradiction(problem, 'reply = "json", or leave out ' + " and ".join(more))
        return self

    @property
    def name(self) -> str:
        """What reports and stores call it."""
        return JUDGE if self.id is None else f"{JUDGE}.{self.id}"

    def office(self, office: str) -> str:
        """The name of another one who judges in its stead or beside it: an office, or the id of one of the
        panel."""
        return f"{self.name}.{office}"

    @property
    def assessors(self) -> dict[str, Assessor]:
        """Everyone who judges, by the name under which reports and stores have it: the judge first."""
        by_name: dict[str, Assessor] = {self.name: self}
        by_name |= {self.office(judge.id): judge for judge in self.panel or ()}
        if self.backup is not None:
            by_name[self.office(BACKUP)] = self.backup
        if self.validation is not None:
            by_name[self.office(SECOND)] = self.validation
        return by_name

    @property
    def jury(self) -> tuple[str, ...]:
        """Those who judge every response."""
        return (self.name, *(self.office(judge.id) for judge in self.panel or ()))

    @property
    def replies(self) -> tuple[str, ...]:
        """The labels that a reply may have."""
        if self.compares is not None:
            return PLACES
        return self.verdicts

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The labels that a response may get."""
        if self.compares is not None:
            return PREFERENCES
        if self.counts is not None:
            return self.counts.shares
        return self.labels or (() if self.scale is None else self.scale.numbers)

    @property
    def rates(self) -> bool:
        """Whether its labels are numbers: those of a scale, or shares."""
        return self.scale is not None or self.counts is not None

    @property
    def scores(self) -> Scores | None:
        """What its labels earn where a spec does not say: nothing is known of labels in words."""
        if self.compares is not None:
            return PREFERENCE_SCORES
        if self.counts is not None:
            return self.counts.scores
        return None if self.scale is None else evenly(self.verdicts)


VERDICTS = ("labels", "scale", "counts", "compares")
"""Keys that say what a judge may say: it has one of them."""
JUDGE = "judge"
BACKUP, SECOND, GUESS, SWAPPED = "backup", "validation", "guess", "swapped"
"""Offices: who judges where the judge gives no label; who judges a share once more; the judge, asked which
configuration a response came from; and whoever it is, asked with the two responses in the other order."""
PLACES = ("A", "B", "tie")
"""What a judge says of two responses: which is better, by its place."""
