"""The items of a study, and what came of each of their samples: what statistics are made of."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from gridc.outcomes import CellOutcomes
from gridc.runtime.store.reader import Reader
from gridc.runtime.store.rows import ResponseRow, SampleRow
from gridc.schema.items import UNIT_LEVELS, UnitLevel

ENDED = """CASE WHEN score IS NULL THEN 'waiting'
                               WHEN choice IS NOT NULL THEN 'read'
                               WHEN evidence LIKE '%"no answer: %'
                               THEN 'failed ' || substr(json_extract(evidence, '$.unread'), 12)
                               ELSE (SELECT CASE WHEN json_extract(answer, '$.refused') THEN 'refused'
                                                 WHEN json_extract(answer, '$.finish') = 'length' THEN 'cut'
                                                 ELSE 'unread' END
                                     FROM trace t JOIN call ON call.id = t.call
                                     WHERE t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
                                     ORDER BY step DESC LIMIT 1)
                          END"""
"""How the sample `s` ended: see `endings`."""


class OutcomeReader(Reader):
    """What reports ask."""

    def groups(self, stamp: str) -> list[tuple[Any, ...]]:
        """Every item of a study with its unit, family, template and category, by benchmark and item; empty in
        a store that an older gridc filled."""
        rows = self._db.execute(
            """SELECT benchmark, item, unit, family, template, category FROM item WHERE stamp = ?
               ORDER BY benchmark, item""",
            [stamp],
        )
        return rows.fetchall()

    def groups_at(self, stamp: str, benchmark: str, level: UnitLevel) -> dict[str, str]:
        """The group of each item of a benchmark at a level, by item; where the data do not say it, that of
        the next finer level that they say."""
        width = UNIT_LEVELS.index(level)
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

    def choices(self, stamp: str, number: str | None = None) -> Iterator[tuple[str, str, int | None, int]]:
        """(cell key, item, choice, how many samples): what each item's answers were read to, of the samples
        that have an outcome."""
        for key in self._cell_keys(stamp):
            for row in self.choices_of(stamp, key, number):
                yield (key, *row)

    def choices_of(
        self, stamp: str, cell: str, number: str | None = None
    ) -> Iterator[tuple[str, int | None, int]]:
        """(item, choice, how many samples): the same of one cell. In place of the choice stands the `number`
        of this name that a function gave, in whole numbers of its unit; None where it gave none."""
        read = "choice" if number is None else "json_extract(evidence, '$.numbers.\"' || ?3 || '\"')"
        yield from self._db.execute(
            f"""SELECT item, {read} AS given, count(*) FROM sample
               WHERE cell = (SELECT id FROM cell WHERE stamp = ?1 AND key = ?2) AND score IS NOT NULL
               GROUP BY item, given""",
            [stamp, cell] if number is None else [stamp, cell, number],
        )

    def votes_of(self, stamp: str, cell: str) -> Iterator[tuple[str, int | str | None, int]]:
        """(item, answer, score) of the samples of one cell that have an outcome, by item and replicate. The
        answer is the choice; of free text what it was read to."""
        yield from self._db.execute(
            """SELECT item, coalesce(json_extract(evidence, '$.answer'), choice), score FROM sample
               WHERE cell = (SELECT id FROM cell WHERE stamp = ? AND key = ?) AND score IS NOT NULL
               ORDER BY item, replicate""",
            [stamp, cell],
        )

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
            characters = None if text is None else len(text)
            numbers = json.loads(given) if given else {}
            yield ResponseRow(item, choice, score, characters, tokens, finish, bool(asked), label, numbers)

    def _cell_keys(self, stamp: str) -> list[str]:
        """The cells of a study in the order of the plan. A question that sorts is put to one at a time: a
        study has too many samples to sort them all in memory."""
        return [
            row[0] for row in self._db.execute("SELECT key FROM cell WHERE stamp = ? ORDER BY id", [stamp])
        ]

    def endings(self, stamp: str) -> Iterator[tuple[str, str, str, int]]:
        """(model, benchmark, how it ended, how many samples): `read`, `waiting`, `failed KIND` where a call
        failed for good, or without an answer that can be read `refused` by the provider, `cut` at
        `max_tokens` or `unread`."""
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
        words = {"waiting": "unscored", "unread": "unreadable"}
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
