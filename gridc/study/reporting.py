"""From a store to what a study says: findings, certificate, GRID cards, files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gridc import __version__
from gridc.compiler.compile import Compiled
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.lock.attestation import attestations
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, UsageError, VerificationError
from gridc.files import require_unlinked, write_atomic
from gridc.reports import checklist, studies
from gridc.reports import files as documents
from gridc.reports.checklist import ReportCriterion
from gridc.reports.differing_answers import most_stated
from gridc.reports.exchange import EXPORTS, TRACKERS, is_bundle, model_card
from gridc.reports.exchange.bundle import verify_bundle
from gridc.reports.findings.components import ATTRIBUTION, LABEL
from gridc.reports.findings.conduct import cut_off_words
from gridc.reports.findings.findings import Findings, all_findings
from gridc.reports.findings.hypotheses import verdict_lines
from gridc.reports.findings.run_record import Finding, reported
from gridc.reports.findings.scaffolds import PROPAGATION
from gridc.reports.findings.summaries import SUMMARIES
from gridc.reports.page import PROMINENT, plots_html
from gridc.reports.rendering import report_code_digest
from gridc.reports.scoreboard import of_findings
from gridc.reports.scorecard.document import make_scorecard
from gridc.reports.statements import brief, choose, statement_texts, urgent
from gridc.reports.statements.answer import StudyAnswer as StudyAnswer
from gridc.reports.statements.answer import beside, study_answer
from gridc.reports.statements.conduct import moved_floors
from gridc.reports.ties import anchor_record, claimed_of_lock, claimed_of_results, ties_of_results
from gridc.reports.verification import figures_in
from gridc.runtime.run import conclude
from gridc.runtime.store.events import InterimLook, Reported
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer
from gridc.schema.canonical import digest_bytes
from gridc.schema.card import CardDeck
from gridc.schema.certificate import Certificate
from gridc.schema.scorecard import StudiesTogether
from gridc.study.exports import TABLES
from gridc.study.notebook import InNotebook
from gridc.study.place import Place
from gridc.study.scores import ScoreboardReport

ShownBy = Literal["store", "bundle"] | None


def listed(title: str, sentences: Iterable[str]) -> str:
    """What a Python prompt shows of an answer that is mostly sentences."""
    return "\n".join([title, *(f"• {sentence}" for sentence in sentences)])


@dataclass(frozen=True, slots=True, repr=False)
class FindingsReport:
    """What a study's store shows, complete or not. `findings` is all of it; `certificate` and `cards` are the
    documents that are made of it."""

    findings: Findings
    certificate: Certificate
    cards: CardDeck

    @property
    def complete(self) -> bool:
        return self.findings.complete

    @property
    def scoreboard(self) -> ScoreboardReport:
        """What each model scores under the anchor."""
        endings = {board.benchmark: board.endings for board in self.findings.benchmarks}
        return ScoreboardReport(
            of_findings(self.findings), self.complete, cut_off_words(endings), self.findings[SUMMARIES]
        )

    @property
    def leading(self) -> tuple[str, ...]:
        """The most important sentences of the certificate."""
        return tuple(statement_texts(self.findings, "leading")[:PROMINENT])

    @property
    def verdicts(self) -> tuple[str, ...]:
        """What came of everything that the spec states: hypotheses, falsification tests, curves."""
        return (
            *verdict_lines(self.findings.hypotheses, self.findings.complete),
            *statement_texts(self.findings, "falsification"),
            *statement_texts(self.findings, "curves"),
        )

    @property
    def answer(self) -> StudyAnswer:
        """What came of the study in a sentence, and what it says to at most three questions."""
        return study_answer(self.findings)

    @property
    def headline(self) -> tuple[str, ...]:
        """At most three of the most important sentences, in short, beside what `answer` says."""
        return tuple(statement.brief for statement in beside(self.findings))[:PROMINENT]

    @property
    def urgent(self) -> tuple[str, ...]:
        """What a reader has to know before any number."""
        return tuple(statement.brief for statement in urgent(self.findings))

    @property
    def foremost_limits(self) -> tuple[str, ...]:
        """The most important of what else limits them, in short, where something does, and every noise floor
        above 0."""
        first = [text for text in brief(self.findings, "limits") if text not in self.urgent][:1]
        noise = [said.brief for row, said in choose(self.findings, "limits") if row.say is moved_floors]
        return tuple(dict.fromkeys((*first, *noise)))

    @property
    def further_counts(self) -> str:
        """How many sentences there are beside the headline and the foremost of what limits it."""
        shown = {*self.urgent, *self.headline, *self.foremost_limits}
        limits = sum(text not in shown for text in brief(self.findings, "limits"))
        texts = [
            *brief(self.findings, "leading"),
            *self.verdicts,
            *statement_texts(self.findings, "rates", "variance"),
        ]
        findings = sum(text not in shown for text in texts)
        counted = ((limits, "further limit"), (findings, "further finding"))
        return " and ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counted if count)

    @property
    def further(self) -> tuple[str, ...]:
        """What else is found: the less important sentences of the certificate, rates, variance."""
        return (
            *statement_texts(self.findings, "leading")[PROMINENT:],
            *statement_texts(self.findings, "rates"),
            *statement_texts(self.findings, "variance"),
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What limits them."""
        return tuple(statement_texts(self.findings, "limits"))

    @property
    def statements(self) -> list[dict[str, Any]]:
        """Every sentence of the certificate with its name, the part of a document where it stands, how strong
        the evidence behind it is, and what its numbers are of."""
        return [
            {"name": row.name, "part": row.part, **asdict(statement)}
            for row, statement in choose(self.findings)
        ]

    def plots_html(self) -> str:
        """The figures of the report page for a notebook, below what the study came to."""
        said = (*self.urgent, self.answer.headline, *self.headline)
        return plots_html(self.findings, self.certificate, self.cards, said)

    def __repr__(self) -> str:
        return listed(f"findings of {self.certificate.study}", (*self.leading, *self.caveats))

    def _repr_html_(self) -> str:
        from gridc.reports.rendering import findings_html

        return findings_html(self.certificate, self.leading, self.caveats)


@dataclass(frozen=True, slots=True, repr=False)
class WrittenReport:
    """A study's report as files, each with its name for people, the page first, and the store that they come
    from. `figures` are those that were asked for. `attribution` is None where it was not asked for."""

    report: FindingsReport
    store: Path
    files: Mapping[Path, str]
    figures: tuple[Path, ...]
    attribution: tuple[Mapping[str, Any], ...] | None

    def as_json(self) -> dict[str, Any]:
        files = [str(path) for path in (*self.files, *self.figures)]
        statements = list(self.report.certificate.statements)
        document: dict[str, Any] = {
            "statements": statements,
            "statement_details": self.report.statements,
            "scores": self.report.scoreboard.as_json(),
            "store": str(self.store),
            "files": files,
        }
        if self.attribution is not None:
            document |= {"attribution_is": LABEL, "attribution": list(self.attribution)}
        return document

    def __repr__(self) -> str:
        return repr(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


@dataclass(frozen=True, slots=True)
class StudiesReport(InNotebook):
    """Several studies, each reported, and the report over all of them, whose `files` begin with the page."""

    document: StudiesTogether
    reports: tuple[WrittenReport, ...]
    files: tuple[Path, ...]

    @property
    def brief(self) -> tuple[str, ...]:
        """What it comes to, in lines."""
        return tuple(studies.in_short(self.document))

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = self.document.model_dump(mode="json")
        return document


@dataclass(frozen=True, slots=True, repr=False)
class CertificateReport:
    """A study's certificate: which orders and reversals its items certify."""

    certificate: Certificate

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = self.certificate.model_dump(mode="json")
        return document

    def __repr__(self) -> str:
        state = "" if self.certificate.complete else ", of a run that is not complete"
        return listed(f"certificate of {self.certificate.study}{state}", self.certificate.statements)

    def _repr_html_(self) -> str:
        from gridc.reports.rendering import certificate_html

        return certificate_html(self.certificate)


@dataclass(frozen=True, slots=True)
class AttachedCards:
    """The cards of one model in a model card; `changed` says whether the file had to be written."""

    readme: Path
    model: str
    changed: bool


@dataclass(frozen=True, slots=True)
class CheckedCards:
    """The cards of one model that a model card agrees with, and what shows that they say what was measured:
    the study's store, a bundle, or (None) nothing but the gridcard.json that was named. `unchecked` is what
    the model card has beside them that could say something else."""

    cards: CardDeck
    model: str
    shown_by: ShownBy
    unchecked: tuple[str, ...]


def findings(place: Place) -> FindingsReport:
    """What the store shows now. Nothing is written, so that this look is not recorded."""
    compiled, lock, _ = place.reconciled()
    with Store.open(place.store(compiled)) as store:
        return _documented(_findings(place, compiled, lock, store))


def report(
    place: Place, figures: bool, pdf: bool, attribution: bool, most_answers: int | None = None
) -> WrittenReport:
    """Write certificate, GRID card and page, and record the look in the store. `most_answers` asks for the
    page with answers too, with at most so many items of a pair."""
    compiled, lock, _ = place.reconciled()
    path = place.store(compiled)
    with Writer.existing(path) as store:
        plan = Plan(compiled.study)
        store.require(plan.study_digest)
        if store.awaits_scoring(plan.study_digest):
            conclude(plan, store, store.progress(plan.study_digest).answered)
        findings = _findings(place, compiled, lock, store, (ATTRIBUTION,) if attribution else ())
        rows = [asdict(row) for row in findings[ATTRIBUTION]]
        look = Reported if findings.complete else InterimLook
        noted: dict[str, Any] = {**asdict(findings.progress), "anchor": anchor_record(findings.anchor)}
        noted |= {"gridc": __version__, "code": report_code_digest()}
        noted["anchors"] = [anchor_record(tie) for tie in findings.anchors]
        noted["results_anchors"] = [anchor_record(tie) for tie in findings.results_anchors]
        if attribution:
            noted["attribution"] = rows
        if findings[PROPAGATION]:
            noted["propagation"] = [asdict(step) for step in findings[PROPAGATION]]
        recorded = {
            finding.name: finding.as_json(findings[finding])
            for finding in reported()
            if finding.recorded and findings[finding]
        }
        if recorded:
            noted["recorded"] = recorded
        texts = documents.file_texts(findings)
        with_answers = path.with_name(documents.WITH_ANSWERS)
        if most_answers is None and with_answers.exists():
            # What an earlier report left would say something else than this one.
            most_answers = most_stated(with_answers)
        if most_answers is not None:
            texts[documents.WITH_ANSWERS] = documents.page_with_answers(findings, store, most_answers)
        noted["files"] = {name: digest_bytes(text.encode()) for name, text in texts.items()}
        store.record(look(stamp=plan.study_digest, **noted))
    written = documents.write_texts(texts, path.parent)
    # Figures that an earlier report left would say something else than this one.
    again = figures or pdf or bool(figures_in(path.parent))
    drawn = documents.draw(findings, path.parent / documents.FIGURES, pdf) if again else []
    names = {file: documents.NAMES[file.name] for file in written}
    return WrittenReport(
        _documented(findings), path, names, tuple(drawn), tuple(rows) if attribution else None
    )


def report_all(
    places: Sequence[Place],
    to: Path | None,
    figures: bool,
    pdf: bool,
    attribution: bool,
    most_answers: int | None = None,
) -> StudiesReport:
    """Report every study, and write what is said over all of them into `to`, by default the folder in which
    the results of the first one lie. Raises `UsageError` where one is named twice, and where two would write
    into one folder, and `OSError` where `to` is a link."""
    if to is not None:
        require_unlinked(to)
    stores = [place.store(place.checked()).resolve() for place in places]
    for number, store in enumerate(stores):
        first = stores.index(store)
        if first < number and places[first].spec.resolve() != places[number].spec.resolve():
            both = f"both write into {store.parent.name}/"
            message = f"its reports would overwrite those of {places[first].spec}: {both}"
            help = "give it another `id` in [study], or a folder of its own, and run it there"
            raise UsageError([Diagnostic("GC000", message, str(places[number].spec), help=help)])
    written = tuple(report(place, figures, pdf, attribution, most_answers) for place in places)
    stamps = [one.report.findings.stamp for one in written]
    for number, stamp in enumerate(stamps):
        if stamp in stamps[:number]:
            message = "one study is named twice, and would count as evidence beside itself"
            help = "name each study once; `gridc compare` compares two runs of one"
            raise UsageError([Diagnostic("GC000", message, str(places[number].spec), help=help)])
    document = studies.studies_report([one.report.findings for one in written])
    folder = to or written[0].store.parent.parent
    folder.mkdir(parents=True, exist_ok=True)
    files = documents.write_texts(studies.studies_texts(document), folder)
    return StudiesReport(document, written, tuple(files))


@dataclass(frozen=True, slots=True)
class StudyChecklist:
    """Criteria of published checklists, each with what the study shows of it, or nothing where only its
    author can say."""

    study: str
    rows: tuple[ReportCriterion, ...]

    @property
    def left(self) -> int:
        """How many the author must write."""
        return sum(row.shown is None for row in self.rows)

    def as_json(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.rows]

    def markdown(self) -> str:
        return checklist.checklist_markdown(self.study, self.rows)

    def write(self, folder: Path) -> Path:
        """Write `checklist.md` into a folder in one step; its path. Raises `OSError`."""
        path = folder / "checklist.md"
        write_atomic(path, self.markdown())
        return path

    def __repr__(self) -> str:
        return self.markdown()

    def _repr_markdown_(self) -> str:
        return self.markdown()


def study_checklist(place: Place) -> StudyChecklist:
    """What checklists for reports ask for, from what the store has."""
    found = findings(place)
    rows = checklist.criteria(found.cards, make_scorecard(found.findings))
    return StudyChecklist(found.cards.study, tuple(rows))


def certify(place: Place) -> CertificateReport:
    """The certificate of what the store has."""
    return CertificateReport(findings(place).certificate)


def export(place: Place, form: str, to: Path | None, producer: str | None = None) -> Path:
    """The study in another form, from its results. Raises `UsageError` where there is no such form, and
    without a `producer` in one that names who publishes it."""
    if form not in EXPORTS:
        message = f"no form of export is called `{form}`"
        raise UsageError([Diagnostic("GC000", message, help=did_you_mean(form, [*EXPORTS, *TABLES]))])
    chosen = EXPORTS[form]
    if chosen.names_producer is (producer is None):
        message = f"`{form}` names who publishes it" if producer is None else f"`{form}` has no producer"
        help = "--producer example.org: a domain name, an ORCID or a GitHub handle"
        raise UsageError([Diagnostic("GC000", message, help=help if producer is None else "leave it out")])
    compiled, lock, _ = place.reconciled()
    results = place.store(compiled).parent
    target = to or results.with_name(f"{results.name}{chosen.suffix}")
    return chosen.write(compiled, lock, results, target, *([] if producer is None else [producer]))


def log_to(place: Place, tracker: str, project: str | None) -> list[str]:
    """One run for each model in an experiment tracker. Raises `UsageError` where there is no such tracker,
    and `VerificationError` where the cards are not those of the store."""
    if tracker not in TRACKERS:
        message = f"no experiment tracker is called `{tracker}`"
        raise UsageError([Diagnostic("GC000", message, help=did_you_mean(tracker, [*TRACKERS]))])
    deck, _ = _cards(place, None)
    results = place.store(place.compiled()).parent
    return TRACKERS[tracker].log(deck, results, project or deck.study)


def attach_card(
    place: Place, readme: Path, deck: Path | None, model: str | None, link: str | None
) -> AttachedCards:
    """Write the GRID cards of one model into a model card."""
    cards, _ = _cards(place, deck)
    chosen = model_card.model_of(cards, model)
    return AttachedCards(readme, chosen, model_card.attach_cards(readme, cards, chosen, link))


def check_card(place: Place, readme: Path, deck: Path | None) -> CheckedCards:
    """The cards that a model card agrees with. Raises `VerificationError` with everything that differs."""
    cards, shown_by = _cards(place, deck)
    checked = model_card.check_cards(readme, cards)
    if checked.differs:
        raise VerificationError(checked.differs)
    return CheckedCards(cards, model_card.model_in(readme, cards), shown_by, checked.unchecked)


def _cards(place: Place, deck: Path | None) -> tuple[CardDeck, ShownBy]:
    """GRID cards, and what shows that they say what was measured: a gridcard.json is text that anybody can
    edit. Raises `VerificationError` where the store or the bundle says something else."""
    if deck is not None and is_bundle(deck):
        verify_bundle(deck, place.trust)
        return documents.read_deck(deck), "bundle"
    if deck is not None:
        return documents.read_deck(deck), None
    compiled, lock = place.stamped()
    path = place.store(compiled)
    cards = documents.read_deck(path.parent)
    with Store.open(path) as store:
        claims = store.events(), Plan(compiled.study).study_digest
        ties, results_ties = claimed_of_lock(*claims), claimed_of_results(*claims)
        stored = documents.documents(
            all_findings(compiled, lock, store, ties, results_tied=results_ties)
        ).deck
    if cards != stored:
        help = "`gridc report` writes them again from the store"
        file = str(path.with_name("gridcard.json"))
        raise VerificationError(
            [Diagnostic("GC707", "the cards are not what the store says", file, help=help)]
        )
    return cards, "store"


def _findings(
    place: Place,
    compiled: Compiled,
    lock: Lock,
    store: Store,
    requested: Sequence[Finding[Any]] = (),
) -> Findings:
    """The findings with the ties that are there now, as the person who asks believes them."""
    ties = attestations(compiled.lock_path, place.spec, place.trust)
    folder, stamp = place.store(compiled).parent, Plan(compiled.study).study_digest
    results_ties = ties_of_results(folder, store.events(), stamp, place.trust)
    return all_findings(compiled, lock, store, ties, results_tied=results_ties, requested=requested)


def _documented(findings: Findings) -> FindingsReport:
    made = documents.documents(findings)
    return FindingsReport(findings, made.certificate, made.deck)
