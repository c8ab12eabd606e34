"""Reads a store for reports, `status` and `verify`: rows, outcomes of items, and digests."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from gridc.compiler.instrument.thoughts import ResponseEnd
from gridc.compiler.lowering.calls import ANSWER
from gridc.outcomes import CellOutcomes
from gridc.runtime.store import digests
from gridc.runtime.store.checks import CheckReader
from gridc.runtime.store.events import RunFinished
from gridc.runtime.store.progress import ProgressReader
from gridc.runtime.store.reader import (
    RECORDED,
    CallRow,
    JudgementRow,
    Labels,
    Reader,
    ResponseRow,
    SampleRow,
    document_of,
    object_of,
)
from gridc.schema.canonical import digest
from gridc.schema.items import UNIT_LEVELS, UnitLevel

ENDED = """CASE WHEN score IS NULL THEN 'waiting'
                               WHEN choice IS NOT NULL THEN 'read'
                               WHEN evidence LIKE '%"no answer: %'
                               THEN 'failed ' || substr(json_extract(evidence, '$.unread'), 12)
                               ELSE (SELECT CASE WHEN json_type(answer, '$.error') = 'object'
                                                 THEN 'failed ' || json_extract(answer, '$.error.kind')
                                                 WHEN json_extract(answer, '$.refused') THEN 'refused'
                                                 WHEN json_extract(answer, '$.finish') = 'length'
                                                 THEN response_end(answer, usage)
                                                 ELSE 'unread' END
                                     FROM trace t JOIN call ON call.id = t.call
                                     WHERE t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                                     ORDER BY step DESC LIMIT 1)
                          END"""
"""How the sample `s` ended: see `endings`."""


CUTS: tuple[ResponseEnd, ...] = ("cut_in_thought", "cut_in_answer")


class OutcomeReader(Reader):
    """The queries of reports."""

    def groups(self, stamp: str) -> list[tuple[Any, ...]]:
        """Every item of a study with its unit, family, template and category, by benchmark and item; empty in
        a store that an older gridc filled."""
        rows = self._db.execute(
            """SELECT benchmark, item, unit, family, template, category FROM item WHERE stamp = ?
               ORDER BY benchmark, item""",
            [stamp],
        )
        return rows.fetchall()

    def asked(self, stamp: str) -> list[tuple[str, str, str]]:
        """Every item of a study by benchmark and item, with its unit, empty in a store that an older gridc
        filled: there those that have a sample."""
        listed = [(benchmark, item, unit) for benchmark, item, unit, *_ in self.groups(stamp)]
        sampled = """SELECT DISTINCT benchmark, item, '' FROM cell JOIN sample ON cell = cell.id
                     WHERE stamp = ? ORDER BY benchmark, item"""
        return listed or self._db.execute(sampled, [stamp]).fetchall()

    def cells(self, stamp: str) -> list[tuple[str, str, str, str]]:
        """Every cell of a study: key, model, benchmark and configuration."""
        rows = "SELECT key, model, benchmark, configuration FROM cell WHERE stamp = ? ORDER BY id"
        return self._db.execute(rows, [stamp]).fetchall()

    def groups_at(self, stamp: str, benchmark: str, level: UnitLevel) -> dict[str, str]:
        """The group of each item of a benchmark at a level, by item; where the data do not say it, that of
        the next finer level that they say."""
        width = UNIT_LEVELS.index(level) - UNIT_LEVELS.index("family") + 1
        return {
            item: next(f"{place}:{name}" for place, name in enumerate(groups[width - 1 :: -1]) if name)
            for at, item, _, *groups in self.groups(stamp)
            if at == benchmark
        }

    def shown(self, stamp: str) -> list[tuple[Any, ...]]:
        """Every item of a study in every order of its options: benchmark, item, order, and what the table
        `shown` has of it."""
        rows = self._db.execute(
            """SELECT benchmark, item, option_order, digest, options, points, gold, matching, unknown,
                      expected FROM shown WHERE stamp = ?""",
            [stamp],
        )
        return rows.fetchall()

    def questions(self, stamp: str) -> list[tuple[Any, ...]]:
        """What every item of a study asks: benchmark, item, and the digests of text, choices and target."""
        statement = "SELECT benchmark, item, text, choices, target FROM question WHERE stamp = ?"
        return self._db.execute(f"{statement} ORDER BY benchmark, item", [stamp]).fetchall()

    def outcomes(self, stamp: str) -> dict[str, CellOutcomes]:
        """The outcomes of every cell of a study, by cell key."""
        rows = self._db.execute(
            """SELECT key, item, count(*), count(score), count(choice), coalesce(sum(score), 0),
                      coalesce(max(CASE replicate WHEN 0 THEN score END), -1)
               FROM cell CROSS JOIN sample ON sample.cell = cell.id
               WHERE stamp = ? GROUP BY cell.id, item""",
            [stamp],
        )
        by_cell, same = {}, dict[tuple[str, ...], tuple[str, ...]]()
        for key, cell in groupby(rows, itemgetter(0)):
            _, items, *counts = zip(*cell, strict=True)
            trials, scored, parsed, correct, first = (np.array(column, dtype=np.int64) for column in counts)
            items = same.setdefault(items, items)  # the cells of a benchmark share one tuple of names
            by_cell[key] = CellOutcomes(items, trials, scored, parsed, correct, first)
        return by_cell

    def choices_of(
        self, stamp: str, cell: str, number: str | None = None
    ) -> Iterator[tuple[str, int | None, int]]:
        """(item, choice, how many samples): what each item's answers in one cell were read to, of the samples
        that have an outcome. In place of the choice stands the `number` of this name that a function gave, in
        whole numbers of its unit; None where it gave none."""
        read = "choice" if number is None else "json_extract(evidence, '$.numbers.\"' || ?3 || '\"')"
        yield from self._db.execute(
            f"""SELECT item, {read} AS given, count(*) FROM sample
               WHERE cell = (SELECT id FROM cell WHERE stamp = ?1 AND key = ?2) AND score IS NOT NULL
               GROUP BY item, given""",
            [stamp, cell] if number is None else [stamp, cell, number],
        )

    def votes_of(self, stamp: str, cell: str) -> Iterator[tuple[str, int | str | None, int, int | None]]:
        """(item, answer, score, choice) of the samples of one cell that have an outcome, by item and
        replicate. The answer is the choice; of free text what it was read to."""
        yield from self._db.execute(
            """SELECT item, coalesce(json_extract(evidence, '$.answer'), choice), score, choice FROM sample
               WHERE cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?) AND score IS NOT NULL
               ORDER BY item, replicate""",
            [stamp, cell],
        )

    def inferred(self, stamp: str) -> dict[str, tuple[int, int]]:
        """By cell key: how many answers were read to something, and how many of these by inference."""
        rows = self._db.execute(
            """SELECT cell.key, count(*), sum(json_extract(evidence, '$.confidence') = 'inferred')
               FROM cell JOIN sample ON sample.cell = cell.id
               WHERE stamp = ? AND json_extract(evidence, '$.confidence') IN ('stated', 'inferred')
               GROUP BY cell.key""",
            [stamp],
        )
        return {key: (readable, inferred) for key, readable, inferred in rows}

    def bits_of(self, stamp: str, cell: str) -> Iterator[tuple[str, float, int]]:
        """(item, bits, bytes) of the texts of one cell whose likelihood is known."""
        yield from self._db.execute(
            """SELECT item, json_extract(evidence, '$.bits'), json_extract(evidence, '$.bytes') FROM sample
               WHERE cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?) AND choice IS NOT NULL
               ORDER BY item""",
            [stamp, cell],
        )

    def responses_of(self, stamp: str, cell: str, judge: str | None = None) -> Iterator[ResponseRow]:
        """The samples of one cell that have an outcome, sorted, with the stored properties of their responses
        and the last label of `judge`."""
        rows = self._db.execute(
            """SELECT s.item, s.choice, s.score, json_extract(answer, '$.text'),
                      json_extract(usage, '$.completion_tokens'),
                      CASE WHEN evidence LIKE '%"no answer: %' THEN 'failed'
                           WHEN json_extract(answer, '$.refused') THEN 'refused'
                           WHEN json_extract(answer, '$.finish') = 'length' THEN 'length'
                           ELSE 'stop' END,
                      j.judge IS NOT NULL, j.label, json_extract(evidence, '$.numbers')
               FROM sample s
               LEFT JOIN trace t ON t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                    AND t.step = (SELECT max(step) FROM trace u WHERE u.cell = s.cell AND u.item = s.item
                                  AND u.replicate = s.replicate)
               LEFT JOIN call ON call.id = t.call
               LEFT JOIN judgement j ON j.cell = s.cell AND j.item = s.item AND j.replicate = s.replicate
                    AND j.judge = ?3
                    AND j.attempt = (SELECT max(attempt) FROM judgement k WHERE k.cell = s.cell
                                     AND k.item = s.item AND k.replicate = s.replicate AND k.judge = ?3)
               WHERE s.cell = (SELECT id FROM cell WHERE stamp = ?1 AND key = ?2) AND s.score IS NOT NULL
               ORDER BY s.item, s.replicate""",
            [stamp, cell, judge],
        )
        for item, choice, score, text, tokens, finish, asked, label, given in rows:
            numbers = json.loads(given) if given else {}
            yield ResponseRow(item, choice, score, text, tokens, finish, bool(asked), label, numbers)

    def call_numbers_of(self, stamp: str, cell: str) -> Iterator[Mapping[str, float | None]]:
        """The numbers of `CALL_NUMBERS` of the samples of one cell that have an outcome, in the order of
        `responses_of`: each the sum over the calls of a sample. None where one of these calls has no such
        number: nobody counted it, it has no price, or it failed. A recorded call has the numbers of all calls
        of its answer that its log says."""
        # The last step of a scaffold's trace is the call that decides, once more.
        rows = self._db.execute(
            """SELECT count(call.id), sum(calls), count(calls),
                      sum(json_extract(usage, '$.completion_tokens')),
                      count(json_extract(usage, '$.completion_tokens')),
                      sum(json_extract(usage, '$.reasoning_tokens')),
                      count(json_extract(usage, '$.reasoning_tokens')),
                      sum(json_extract(usage, '$.prompt_tokens')),
                      count(json_extract(usage, '$.prompt_tokens')),
                      sum(usd), count(usd), sum(seconds), count(seconds)
               FROM sample s
               LEFT JOIN trace t ON t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                    AND (t.name IS NULL OR t.name <> ?3)
               LEFT JOIN (SELECT id, usage, seconds,
                                 CASE kind WHEN ?4 THEN json_extract(usage, '$.calls') ELSE 1 END AS calls,
                                 CASE kind WHEN ?4 THEN json_extract(usage, '$.usd') ELSE
                                 (SELECT sum(usd) FROM attempt
                                  WHERE attempt.call = call.id AND purpose = 'call' AND paid <> 'no') END
                                 AS usd
                          FROM call) call ON call.id = t.call
               WHERE s.cell = (SELECT id FROM cell WHERE stamp = ?1 AND key = ?2) AND s.score IS NOT NULL
               GROUP BY s.item, s.replicate ORDER BY s.item, s.replicate""",
            [stamp, cell, ANSWER, RECORDED],
        )
        names = ("calls", "tokens", "thought_tokens", "read_tokens", "cost", "seconds")
        for calls, *sums in rows:
            pairs = zip(names, sums[::2], sums[1::2], strict=True)
            yield {name: value if count == calls and calls else None for name, value, count in pairs}

    def endings(self, stamp: str) -> Iterator[tuple[str, str, str, int]]:
        """(model, benchmark, how it ended, how many samples): `read`, `waiting`, `failed KIND` where a call
        failed for good, or without an answer that can be read `refused` by the provider, cut at `max_tokens`
        (`cut_in_thought`, `cut_in_answer`: `response_end`) or `unread`."""
        cells = "SELECT id, model, benchmark FROM cell WHERE stamp = ?"
        totals: Counter[tuple[str, str, str]] = Counter()
        for cell, model, benchmark in self._db.execute(cells, [stamp]).fetchall():
            rows = self._db.execute(
                f"""SELECT {ENDED} AS ended, count(*)
                   FROM sample s WHERE s.cell = ? GROUP BY ended""",
                [cell],
            )
            for ended, number in rows:
                totals[model, benchmark, ended] += number
        yield from ((*place, totals[place]) for place in sorted(totals))

    def limited(self, stamp: str) -> frozenset[str]:
        """The identities of the models of a study of which a response was cut off, or a thought counted: one
        pass over its calls, where `response_ends` looks every sample up."""
        where, values = self._calls_of(stamp)
        rows = self._db.execute(
            f"""SELECT DISTINCT model FROM call WHERE {where}
                AND (json_extract(answer, '$.finish') = 'length'
                     OR json_extract(usage, '$.reasoning_tokens') > 0)""",
            values,
        )
        return frozenset(model for (model,) in rows)

    def response_ends(self, stamp: str, cell: str) -> Iterator[tuple[str, int, int | None, int | None, int]]:
        """(how it ended, how many, tokens that were written, those of thoughts among them, how many responses
        have these counted) of the responses of one cell: of every sample that has an outcome the text of its
        last call, but for what failed. `response_end` says how. Tokens are None where nothing counts them."""
        yield from self._db.execute(
            """SELECT CASE json_extract(answer, '$.finish') WHEN 'length' THEN response_end(answer, usage)
                           ELSE 'answered' END AS ended, count(*),
                      sum(json_extract(usage, '$.completion_tokens')),
                      sum(json_extract(usage, '$.reasoning_tokens')),
                      count(json_extract(usage, '$.reasoning_tokens'))
               FROM sample s JOIN trace t ON t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                    AND t.step = (SELECT max(step) FROM trace u WHERE u.cell = s.cell AND u.item = s.item
                                  AND u.replicate = s.replicate)
               JOIN call ON call.id = t.call
               WHERE s.cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?) AND s.score IS NOT NULL
                     AND json_type(answer, '$.text') IS NOT NULL
               GROUP BY ended ORDER BY ended""",
            [stamp, cell],
        )

    def forms_kept(self, stamp: str, cell: str) -> Iterator[tuple[str, bool, bool, int]]:
        """(the rule by which an answer was read, or why none was; whether something was read; whether it was
        asked for again; how many) of the samples of one cell that have an outcome and whose calls did not
        fail."""
        rows = self._db.execute(
            """SELECT coalesce(json_extract(evidence, '$.rule'), json_extract(evidence, '$.unread'), '')
                          AS rule,
                      choice IS NOT NULL AS read,
                      EXISTS (SELECT 1 FROM trace t WHERE t.cell = s.cell AND t.item = s.item
                                  AND t.replicate = s.replicate AND t.name = 'again') AS again,
                      count(*)
               FROM sample s
               WHERE s.cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?) AND s.score IS NOT NULL
                     AND evidence NOT LIKE '%"no answer: %'
               GROUP BY rule, read, again ORDER BY rule, read, again""",
            [stamp, cell],
        )
        yield from ((rule, bool(read), bool(again), count) for rule, read, again, count in rows)

    def unread(self, stamp: str, cell: str) -> dict[str, int]:
        """By item how many samples of one cell ended `unread` or cut, as `endings` says; none is left out
        that has any."""
        rows = self._db.execute(
            f"""SELECT item, count(*)
                FROM (SELECT s.item, coalesce({ENDED}, 'unread') AS ended FROM sample s
                      WHERE s.cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?) AND choice IS NULL)
                WHERE ended IN ('unread', 'cut_in_thought', 'cut_in_answer') GROUP BY item""",
            [stamp, cell],
        )
        return dict(rows.fetchall())

    def last_calls(self, stamp: str, cell: str) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
        """(how it ended, what it counts) of the last call of every sample of one cell, by item and replicate:
        `finish` and `usage` as they are stored, None and empty where there is none."""
        rows = self._db.execute(
            """SELECT json_extract(answer, '$.finish'), usage FROM sample s
               LEFT JOIN trace t ON t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                    AND t.step = (SELECT max(step) FROM trace u WHERE u.cell = s.cell AND u.item = s.item
                                  AND u.replicate = s.replicate)
               LEFT JOIN call ON call.id = t.call
               WHERE s.cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?)
               ORDER BY s.item, s.replicate""",
            [stamp, cell],
        )
        yield from ((finish, json.loads(usage or "{}")) for finish, usage in rows)

    def ended_samples(self, stamp: str, cell: str) -> Iterator[tuple[str, int | None, Any, str | None]]:
        """(item, score, how it ended, id of its first prompt) of every sample of one cell, by item and
        replicate. It ended as `endings` says, in one word each: read, unreadable, cut, refused, failed,
        unscored."""
        rows = self._db.execute(
            f"""SELECT s.item, score, {ENDED} AS ended,
                       (SELECT prompt FROM trace t JOIN call ON call.id = t.call
                        WHERE t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                        ORDER BY step LIMIT 1)
                FROM sample s WHERE s.cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?)
                ORDER BY s.item, s.replicate""",
            [stamp, cell],
        )
        words = {"waiting": "unscored", "unread": "unreadable"} | dict.fromkeys(CUTS, "cut")
        for item, score, ended, prompt in rows:
            word = (ended or "unread").split()[0]
            yield item, score, words.get(word, word), prompt

    def first_texts(self, stamp: str, cell: str, item: str) -> tuple[str | None, str | None]:
        """The prompt (JSON) of the first call of an item's first replicate in a cell, and what its last call
        generated; None where there is none."""
        where = """FROM trace JOIN call ON call.id = call JOIN prompt ON prompt.id = prompt
                   WHERE cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?)
                   AND item = ? AND replicate = 0 ORDER BY step"""
        first = self._db.execute(f"SELECT content {where} LIMIT 1", [stamp, cell, item]).fetchone()
        answered = f"SELECT json_extract(answer, '$.text') {where} DESC LIMIT 1"
        last = self._db.execute(answered, [stamp, cell, item]).fetchone()
        return (first and first[0], last and last[0])

    def first_messages(self, stamp: str, cell: str, item: str) -> list[tuple[str, str]]:
        """The messages (role, text) of that prompt; none where there is no prompt."""
        content, _ = self.first_texts(stamp, cell, item)
        return (
            [] if content is None else [(role, str(text)) for role, text in json.loads(content)["messages"]]
        )

    def prompts(self) -> Iterator[tuple[str, str]]:
        """(id, content) of every prompt in the file."""
        return iter(self._db.execute("SELECT id, content FROM prompt"))

    def units(self, stamp: str) -> dict[str, str]:
        """What the independent units are, by benchmark of a study. Which score is the better one, its spec
        says."""
        return dict(self._db.execute("SELECT benchmark, unit FROM benchmark WHERE stamp = ?", [stamp]))

    def sample_rows(self, stamp: str, cell: str) -> Iterator[SampleRow]:
        """(item, replicate, choice, score, evidence, calls, text) of every sample of one cell, sorted.
        `calls` are its calls in order, and `text` is what the last of them generated, if anything."""
        yield from self._db.execute(
            """SELECT s.item, s.replicate, choice, score, evidence,
                      (SELECT group_concat(call, ' ') FROM
                         (SELECT call FROM trace t WHERE t.cell = s.cell AND t.item = s.item
                          AND t.replicate = s.replicate ORDER BY step)),
                      (SELECT json_extract(answer, '$.text') FROM trace t JOIN call ON call.id = t.call
                       WHERE t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                       ORDER BY step DESC LIMIT 1)
               FROM sample s WHERE s.cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?)
               ORDER BY s.item, s.replicate""",
            [stamp, cell],
        )


class Store(ProgressReader, OutcomeReader, CheckReader):
    """A store that is open for reading. Use as a context manager."""

    def answers_digest(self, stamp: str) -> str:
        """SHA-256 over every call of the study with its answer's digest, by call id."""
        return digests.of_answers(self._db, *self._calls_of(stamp))

    def records_digest(self, stamp: str, calls: digests.CallRecords | None = None) -> str:
        """What runs recorded of all rows before there was a digest for each table. Calls, where they are
        given, are not read again."""
        return digests.of_records(self._db, stamp, *self._calls_of(stamp), calls)

    def covered(self) -> dict[str, list[str]]:
        """The tables and columns that `table_digests` are of at the end of a run."""
        return digests.covered(self._db)

    def uncovered(self, recorded: Mapping[str, Sequence[str]]) -> list[str]:
        """The columns, by table, that are `covered` now but were not among those that a run recorded."""
        return digests.uncovered(self._db, recorded)

    def table_digests(
        self,
        stamp: str,
        columns: Mapping[str, Sequence[str]] | None = None,
        calls: digests.CallRecords | None = None,
    ) -> dict[str, str | None]:
        """SHA-256 over these columns (or those that are `covered`) of each table's rows that belong to the
        study; None where there is no such column. Calls, where they are given, are not read again."""
        return digests.of_tables(
            self._db, stamp, *self._calls_of(stamp), self.covered() if columns is None else columns, calls
        )

    def results_digest(self, stamp: str, read: digests.CellResults | None = None) -> str:
        """SHA-256 over the sorted (cell, item, replicate, text or chosen option, score). If every
        cell of the study was `read`, none is read again."""
        return digests.of_results(self._db, stamp, read)

    def departures(
        self, finish: RunFinished, results: str, calls: digests.CallRecords | None = None
    ) -> Iterator[str]:
        """What is not as a run recorded it at its end, a sentence each. `results` is the results digest as it
        is now. Calls, where they are given, are not read again."""
        actual: dict[str, tuple[str | None, str]] = {"results": (results, finish.results)}
        if finish.answers is not None:
            actual["answers"] = self.answers_digest(finish.stamp), finish.answers
        if finish.records is not None:
            actual["records"] = self.records_digest(finish.stamp, calls), finish.records
        tables = finish.tables or {}
        columns = {name: digest.columns for name, digest in tables.items()}
        for name, value in self.table_digests(finish.stamp, columns, calls).items():
            actual[f"rows of `{name}`"] = value, tables[name].sha256
        for what, (value, noted) in actual.items():
            if value is None:
                yield f"the run recorded a digest of {what} with a column that is not there"
            elif value != noted:
                yield f"the {what} hash to {value[:12]}, recorded is {noted[:12]}"

    def call_rows(self, stamp: str) -> Iterator[CallRow]:
        """(id, model, precision, kind, prompt, its content, request, sent, answer, answer_digest, usage,
        seconds, finished) of every distinct call of the study, by id. What is JSON is text."""
        where, values = self._calls_of(stamp)
        yield from self._db.execute(
            f"""SELECT call.id, model, precision, kind, prompt, prompt.content, request, sent, answer,
                       answer_digest, usage, seconds, finished
                FROM call JOIN prompt ON prompt.id = call.prompt WHERE {where} ORDER BY call.id""",
            values,
        )

    def known(self, calls: Iterable[str]) -> list[str]:
        """The calls among these that are in the store, answered or not, sorted."""
        find = "SELECT 1 FROM call WHERE id = ?"
        return [call for call in sorted(calls) if self._db.execute(find, [call]).fetchone()]

    def answered(self) -> Iterator[dict[str, Any]]:
        """The request of every call that has its answer, whatever study asked it."""
        for (request,) in self._db.execute("SELECT request FROM call WHERE answer IS NOT NULL"):
            yield object_of(request)

    def answered_calls(self, stamp: str, model: str, precision: str) -> Iterator[str]:
        """Every answered call of the study on one model."""
        where, values = self._calls_of(stamp)
        rows = self._db.execute(
            f"SELECT id FROM call WHERE model = ? AND precision = ? AND answer IS NOT NULL AND {where}",
            [model, precision, *values],
        )
        yield from (identifier for (identifier,) in rows)

    def shared_calls(self, stamp: str) -> Iterator[tuple[list[str], int]]:
        """(keys of cells, how many calls are in a trace of each of them) for calls of several cells."""
        rows = self._db.execute(
            """SELECT cells, count(*) FROM (
                   SELECT group_concat(cell) AS cells FROM (
                       SELECT DISTINCT call, cell FROM trace JOIN cell ON cell.id = cell WHERE stamp = ?
                       ORDER BY call, cell)
                   GROUP BY call HAVING count(*) > 1)
               GROUP BY cells""",
            [stamp],
        )
        keys = dict(self._db.execute("SELECT id, key FROM cell WHERE stamp = ?", [stamp]))
        for cells, calls in rows.fetchall():
            yield [keys[int(cell)] for cell in cells.split(",")], calls

    def plain_calls(self, stamp: str) -> set[str]:
        """The calls of a study that are asked outside of scaffolds."""
        rows = self._db.execute(
            """SELECT DISTINCT call FROM trace JOIN cell ON cell.id = trace.cell
               WHERE stamp = ? AND name IS NULL""",
            [stamp],
        )
        return {call for (call,) in rows}

    def digests(self, stamp: str) -> Iterator[tuple[str, str]]:
        """(call, digest of its answer) of every answered call of the study."""
        where, values = self._calls_of(stamp)
        yield from self._db.execute(
            f"SELECT id, answer_digest FROM call WHERE answer IS NOT NULL AND {where}", values
        )

    def answer_to(self, call: str) -> dict[str, Any] | None:
        """The answer of a call, by its id; None where it has none, or there is no such call."""
        row = self._db.execute("SELECT answer FROM call WHERE id = ?", [call]).fetchone()
        return None if row is None or row[0] is None else object_of(row[0])

    def answered_with(self, call: str) -> tuple[Any, Any]:
        """What a call was sent to the model as, and its answer, which may be any JSON where it was edited."""
        row = self._db.execute("SELECT sent, answer FROM call WHERE id = ?", [call]).fetchone()
        return object_of(row[0]), document_of(row[1])

    def answers_of(self, calls: Iterable[str]) -> dict[str, str]:
        """The answers (JSON) of the calls among these that have one, by call id."""
        answers = {}
        for call in calls:
            row = self._db.execute("SELECT answer FROM call WHERE id = ?", [call]).fetchone()
            if row is not None and row[0] is not None:
                answers[call] = row[0]
        return answers

    def answers(self, stamp: str, cell: str) -> Iterator[tuple[str, int, list[Any]]]:
        """(item, replicate, answers of its calls in order) for the samples of one cell that have been
        answered in full: a scaffold's to its end."""
        rows = self._db.execute(
            """SELECT item, replicate, answer, name FROM trace JOIN call ON call.id = trace.call
               WHERE cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?)
               ORDER BY item, replicate, step""",
            [stamp, cell],
        )
        for (item, replicate), sample in groupby(rows, itemgetter(0, 1)):
            *_, answers, names = zip(*sample, strict=True)
            if None not in answers and names[-1] in (None, ANSWER):
                yield item, replicate, [object_of(answer) for answer in answers]

    def stepped(self, stamp: str) -> set[str]:
        """The keys of the cells with a call that has the name of a scaffold's step."""
        rows = self._db.execute(
            """SELECT DISTINCT key FROM trace JOIN cell ON cell.id = trace.cell
               WHERE stamp = ? AND name IS NOT NULL""",
            [stamp],
        )
        return {key for (key,) in rows}

    def samples_with(self, stamp: str, call: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """(cell key, item, the calls of the sample in order) of every sample that a call belongs to."""
        rows = self._db.execute(
            """SELECT key, t.item,
                      (SELECT group_concat(call, ' ') FROM
                         (SELECT call FROM trace u WHERE u.cell = t.cell AND u.item = t.item
                          AND u.replicate = t.replicate ORDER BY step))
               FROM trace t JOIN cell ON cell.id = t.cell WHERE stamp = ? AND call = ?
               GROUP BY t.cell, t.item, t.replicate ORDER BY key, t.item, t.replicate""",
            [stamp, call],
        )
        return [(key, item, tuple(calls.split())) for key, item, calls in rows]

    def attempts(self) -> Iterator[dict[str, Any]]:
        """The requests that were made for calls, as they are stored."""
        yield from self._db.query("SELECT * FROM attempt WHERE call IS NOT NULL ORDER BY id")

    def nonce(self, stamp: str, about: str) -> str | None:
        """The secret of a sealed map; None where none was sealed."""
        row = self._db.execute(
            "SELECT nonce FROM blinding WHERE stamp = ? AND about = ?", [stamp, about]
        ).fetchone()
        return None if row is None else str(row[0])

    def labels(self, stamp: str, about: str) -> Labels:
        """What people said of the responses on a sheet; empty until its labels were taken back."""
        found: Labels = {}
        for uuid, annotator, label in self._db.execute(
            "SELECT uuid, annotator, label FROM label WHERE stamp = ? AND about = ? ORDER BY uuid, annotator",
            [stamp, about],
        ):
            found.setdefault(uuid, {})[annotator] = label
        return found

    def labels_digest(self, stamp: str, about: str) -> str:
        """SHA-256 of the labels of a sheet as JSON: an object of UUIDs and labels, or where people have names
        of UUIDs and objects of names and labels."""
        return digest(
            {
                uuid: labels[""] if labels.keys() == {""} else labels
                for uuid, labels in self.labels(stamp, about).items()
            }
        )

    def judgements(self, stamp: str) -> Iterator[JudgementRow]:
        """What judges were asked about the study's responses, and what the replies were read to, sorted."""
        rows = self._db.execute(
            """SELECT key, item, replicate, judge, attempt, call, label, confidence, failure
               FROM judgement JOIN cell ON cell.id = judgement.cell WHERE stamp = ?
               ORDER BY key, item, replicate, judge, attempt""",
            [stamp],
        )
        yield from map(JudgementRow._make, rows)

    def judgements_digest(self, stamp: str) -> str:
        """SHA-256 over every judgement of the study."""
        return digests.digest_of_judgements(self._db, stamp)

    def first_judgement(self, stamp: str) -> str | None:
        """When the first reply of a judge was stored (UTC, ISO 8601); None while there is none."""
        row = self._db.execute(
            """SELECT min(finished) FROM call WHERE id IN
               (SELECT call FROM judgement JOIN cell ON cell.id = judgement.cell WHERE stamp = ?)""",
            [stamp],
        ).fetchone()
        return None if row is None else row[0]

    def judged_between(self, stamp: str) -> tuple[str | None, str | None]:
        """When the first and the last reply of a judge was stored (UTC, ISO 8601), of those that no other
        study in this store asked for too; None where there is none."""
        row = self._db.execute(
            """SELECT min(finished), max(finished) FROM call WHERE id IN (
                 SELECT call FROM judgement JOIN cell ON cell.id = cell WHERE stamp = ?1
                 EXCEPT SELECT call FROM judgement JOIN cell ON cell.id = cell WHERE stamp <> ?1
                 EXCEPT SELECT call FROM trace)""",
            [stamp],
        ).fetchone()
        return row[0], row[1]

    def judged_responses(self, stamp: str) -> int:
        """How many responses judges were asked about."""
        (count,) = self._db.execute(
            """SELECT count(*) FROM (SELECT DISTINCT cell, item, replicate FROM judgement
               JOIN cell ON cell.id = judgement.cell WHERE stamp = ?)""",
            [stamp],
        ).fetchone()
        return int(count)

    def judged_scores(self, stamp: str) -> int:
        """How many responses that judges were asked about have an outcome."""
        (count,) = self._db.execute(
            """SELECT count(*) FROM sample JOIN cell ON cell.id = sample.cell WHERE stamp = ?
               AND score IS NOT NULL AND EXISTS (SELECT 1 FROM judgement j WHERE j.cell = sample.cell
                 AND j.item = sample.item AND j.replicate = sample.replicate)""",
            [stamp],
        ).fetchone()
        return int(count)
