"""The order in which the calls of a stage are asked, and the calls as engines take them."""

import json
from collections.abc import Collection
from functools import lru_cache

from gridc.compiler.lowering.calls import CallKind, Prompt
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.engines.protocol import Call
from gridc.runtime.store.writable import Writable
from gridc.schema.canonical import digest_bytes

_LAYOUT = """
CREATE TEMP TABLE IF NOT EXISTS layout (
    stage INTEGER NOT NULL,
    number INTEGER NOT NULL,
    call TEXT NOT NULL,
    PRIMARY KEY (stage, number)
) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS wave (place INTEGER PRIMARY KEY, call TEXT NOT NULL UNIQUE) STRICT;
CREATE TEMP TABLE IF NOT EXISTS ordered (place INTEGER PRIMARY KEY, prompt TEXT NOT NULL UNIQUE) STRICT
"""
"""The calls of each stage of a run in their order, those of one wave, and the prompts of one in theirs."""


class LayoutWriter(Writable):
    """Numbers calls in temporary tables, so that they are read a stretch at a time."""

    def lay_out(
        self,
        stage: int,
        stamp: str,
        model: str,
        precision: str,
        among: Collection[str] | None = None,
        ordered: bool = False,
    ) -> tuple[int, int]:
        """Number the calls of the study's samples on one model, or those `among` some, for `stretch`: those
        on one prompt together, and prompts by their text, so that neighbours begin alike; `ordered`: some
        calls, in the order in which they are given. How many there are, and how many have no answer."""
        with self._db.atomic():
            for statement in _LAYOUT.split(";"):
                self._db.execute(statement)
            self._db.execute("DELETE FROM temp.layout WHERE stage = ?", [stage])
            self._db.execute("DELETE FROM temp.ordered")
            self._db.execute("DELETE FROM temp.wave")
            where, values = self._calls_of(stamp)
            judges = "SELECT call FROM judgement WHERE call NOT IN (SELECT call FROM trace)"
            mine = f"model = ? AND precision = ? AND {where} AND call.id NOT IN ({judges})"
            if among is not None:
                self._insert("INSERT INTO temp.wave VALUES (?, ?)", list(enumerate(among)))
                mine += " AND call.id IN (SELECT call FROM temp.wave)"
            if ordered:
                place = "row_number() OVER (ORDER BY place) - 1"
                self._db.execute(f"INSERT INTO temp.layout SELECT ?, {place}, call FROM temp.wave", [stage])
                return len(among or ()), self.unanswered(stage)
            self._db.execute(
                f"""INSERT INTO temp.ordered (prompt) SELECT id FROM prompt
                    WHERE id IN (SELECT prompt FROM call WHERE {mine}) ORDER BY content""",
                [model, precision, *values],
            )
            self._db.execute(
                f"""INSERT INTO temp.layout SELECT ?, row_number() OVER (ORDER BY place, id) - 1, id
                    FROM call JOIN temp.ordered USING (prompt) WHERE {mine}""",
                [stage, model, precision, *values],
            )
        (calls,) = self._db.execute("SELECT count(*) FROM temp.layout WHERE stage = ?", [stage]).fetchone()
        return calls, self.unanswered(stage)

    def unanswered(self, stage: int) -> int:
        """How many calls of a stage that was laid out have no answer."""
        (missing,) = self._db.execute(
            "SELECT count(*) - count(answer) FROM temp.layout JOIN call ON id = call WHERE stage = ?", [stage]
        ).fetchone()
        return int(missing)

    def stretch(self, stage: int, start: int, length: int) -> list[tuple[Call, bool]]:
        """The calls of a stage that was laid out from number `start` on, and whether each has its answer."""
        rows = self._db.execute(
            """SELECT call.id, kind, request, prompt.content, answer IS NOT NULL,
                      EXISTS (SELECT 1 FROM trace WHERE trace.call = call.id AND name IS NOT NULL)
               FROM temp.layout JOIN call ON call.id = layout.call JOIN prompt ON prompt.id = call.prompt
               WHERE stage = ? AND number >= ? AND number < ? ORDER BY number""",
            [stage, start, start + length],
        )
        prompts = lru_cache(maxsize=1)(_prompt)  # calls on one prompt follow each other
        return [
            (_call(identifier, kind, request, prompts(content), bool(continued)), bool(answered))
            for identifier, kind, request, content, answered, continued in rows
        ]

    def call(self, identifier: str) -> Call:
        """One call."""
        kind, request, content = self._db.execute(
            "SELECT kind, request, content FROM call JOIN prompt ON prompt.id = prompt WHERE call.id = ?",
            [identifier],
        ).fetchone()
        return _call(identifier, kind, request, _prompt(content))


def _call(identifier: str, kind: CallKind, request: str, prompt: Prompt, continued: bool = False) -> Call:
    """A call as it was planned. Raises `StoreError` (GC605) for any other: a changed question is not asked
    under the name of the planned one."""
    parameters, named = json.loads(request), digest_bytes(request.encode())
    if named != identifier or (parameters["prompt"], parameters["kind"]) != (prompt.id, kind):
        message = f"the request of call {identifier[:12]} or its prompt is not the planned one"
        raise StoreError(
            [Diagnostic("GC605", message, help="`gridc verify` says what else is wrong with it")]
        )
    return Call(identifier, kind, prompt, parameters, continued)


def _prompt(content: str) -> Prompt:
    document = json.loads(content)
    messages = tuple((role, text) for role, text in document["messages"])
    shorter, thinking = tuple(document.get("shorter", ())), document.get("thinking")
    return Prompt(messages, document["chat_template"], shorter, thinking)
