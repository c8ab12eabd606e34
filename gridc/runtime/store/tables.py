"""The tables of a store, and the migrations that made them.

`TABLES` says what each table holds, and docs/store.md what each column.

Calls belong to no study: two studies that ask the same thing share the answer.
"""

from sqlite_utils import Database, Migrations

TABLES = {
    "study": "a stamp and the document it is the digest of",
    "benchmark": "which score is the good one, and which groups of items are independent",
    "item": "a sampled item and the groups it belongs to",
    "question": "what an item asks, by digests that it has in every package",
    "shown": "an item with its options in one order, and which of them earn the point",
    "prompt": "what a model is shown",
    "call": "one request, keyed by its digest, with its answer once there is one",
    "batch": "calls that were answered together, and what that took",
    "submission": "requests that went to a provider's batch endpoint together, and what became of them",
    "attempt": "a request to a model behind an address, and how it ended",
    "cell": "model x benchmark x configuration, under a stamp",
    "sample": "one item asked once in a cell, with its outcome",
    "trace": "the calls of a sample, in order",
    "judgement": "the calls of judges about a sample, and what each reply was read to",
    "blinding": "the secret behind the UUIDs of blinded responses",
    "label": "what people said of the responses on a sheet",
    "event": "an append-only chain: each event holds the digest of the one before it",
}

APPLICATION_ID = 0x67726964  # "grid" in ASCII: how `file` and gridc know a store

migrations = Migrations("gridc")


@migrations()
def m001_first(db: Database) -> None:
    for statement in FIRST.split(";"):
        if statement.strip():
            db.execute(statement)  # not executescript, which would end the migration's transaction


@migrations()
def m002_batches(db: Database) -> None:
    db.execute(
        """CREATE TABLE batch (
            id INTEGER PRIMARY KEY,
            model TEXT NOT NULL,
            precision TEXT NOT NULL,
            calls INTEGER NOT NULL,
            forward_tokens INTEGER NOT NULL,
            seconds REAL NOT NULL,
            kv_bytes INTEGER NOT NULL,
            rows INTEGER NOT NULL,
            peak_bytes INTEGER NOT NULL,
            finished TEXT NOT NULL
        ) STRICT"""
    )
    db.execute("ALTER TABLE call ADD COLUMN batch INTEGER REFERENCES batch (id)")


@migrations()
def m003_items(db: Database) -> None:
    for statement in ITEMS.split(";"):
        if statement.strip():
            db.execute(statement)


@migrations()
def m004_named_work(db: Database) -> None:
    """What a batch took, by names of the engine's own: until now all were those of the forest."""
    db.execute("ALTER TABLE batch ADD COLUMN work TEXT NOT NULL DEFAULT '{}'")
    db.execute("ALTER TABLE batch ADD COLUMN most TEXT NOT NULL DEFAULT '{}'")
    db.execute(
        """UPDATE batch SET work = json_object('forward_tokens', forward_tokens),
           most = json_object('kv_bytes', kv_bytes, 'peak_bytes', peak_bytes, 'rows', rows)"""
    )
    for column in ("forward_tokens", "kv_bytes", "rows", "peak_bytes"):
        db.execute(f"ALTER TABLE batch DROP COLUMN {column}")


@migrations()
def m005_steps(db: Database) -> None:
    db.execute("ALTER TABLE trace ADD COLUMN name TEXT")


@migrations()
def m006_attempts(db: Database) -> None:
    """Requests to models behind an address."""
    for statement in ATTEMPTS.split(";"):
        if statement.strip():
            db.execute(statement)


@migrations()
def m007_blinding(db: Database) -> None:
    """The secret of each map from UUIDs to cells."""
    db.execute(
        """CREATE TABLE blinding (
            stamp TEXT NOT NULL REFERENCES study (stamp),
            about TEXT NOT NULL,
            nonce TEXT NOT NULL,
            PRIMARY KEY (stamp, about)
        ) STRICT, WITHOUT ROWID"""
    )


@migrations()
def m008_judgements(db: Database) -> None:
    """What judges were asked about responses, and what they replied."""
    db.execute(
        """CREATE TABLE judgement (
            cell INTEGER NOT NULL,
            item TEXT NOT NULL,
            replicate INTEGER NOT NULL,
            judge TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            call TEXT NOT NULL REFERENCES call (id),
            label TEXT,
            confidence INTEGER,
            failure TEXT,
            PRIMARY KEY (cell, item, replicate, judge, attempt),
            FOREIGN KEY (cell, item, replicate) REFERENCES sample (cell, item, replicate),
            CHECK (label IS NULL OR failure IS NULL)
        ) STRICT, WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX judgement_by_call ON judgement (call)")


@migrations()
def m009_labels(db: Database) -> None:
    """What people said of blinded responses."""
    db.execute(
        """CREATE TABLE label (
            stamp TEXT NOT NULL,
            about TEXT NOT NULL,
            uuid TEXT NOT NULL,
            label TEXT NOT NULL,
            PRIMARY KEY (stamp, about, uuid),
            FOREIGN KEY (stamp, about) REFERENCES blinding (stamp, about)
        ) STRICT, WITHOUT ROWID"""
    )


@migrations()
def m010_submissions(db: Database) -> None:
    """Batches at providers."""
    db.execute(
        """CREATE TABLE submission (
            id TEXT PRIMARY KEY,
            model TEXT NOT NULL,
            created TEXT NOT NULL,
            requests INTEGER NOT NULL,
            state TEXT NOT NULL,
            remote TEXT,
            detail TEXT
        ) STRICT, WITHOUT ROWID"""
    )
    db.execute("ALTER TABLE attempt ADD COLUMN submission TEXT REFERENCES submission (id)")
    db.execute("CREATE INDEX attempt_by_submission ON attempt (submission)")


@migrations()
def m011_questions(db: Database) -> None:
    """What items ask, so that those of a store and of another package's log can be matched."""
    db.execute(
        """CREATE TABLE question (
            stamp TEXT NOT NULL,
            benchmark TEXT NOT NULL,
            item TEXT NOT NULL,
            text TEXT,
            choices TEXT,
            target TEXT,
            PRIMARY KEY (stamp, benchmark, item),
            FOREIGN KEY (stamp, benchmark, item) REFERENCES item (stamp, benchmark, item)
        ) STRICT, WITHOUT ROWID"""
    )


@migrations()
def m012_annotators(db: Database) -> None:
    """Several people label one response; who has no name is "" here."""
    db.execute("ALTER TABLE label RENAME TO label_of_one")
    db.execute(
        """CREATE TABLE label (
            stamp TEXT NOT NULL,
            about TEXT NOT NULL,
            uuid TEXT NOT NULL,
            annotator TEXT NOT NULL,
            label TEXT NOT NULL,
            PRIMARY KEY (stamp, about, uuid, annotator),
            FOREIGN KEY (stamp, about) REFERENCES blinding (stamp, about)
        ) STRICT, WITHOUT ROWID"""
    )
    db.execute("INSERT INTO label SELECT stamp, about, uuid, '', label FROM label_of_one")
    db.execute("DROP TABLE label_of_one")


ATTEMPTS = """
CREATE TABLE attempt (
    id TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    purpose TEXT NOT NULL,
    call TEXT REFERENCES call (id),
    number INTEGER NOT NULL,
    started TEXT NOT NULL,
    seconds REAL,
    status TEXT NOT NULL,
    failure TEXT,
    http INTEGER,
    paid TEXT NOT NULL,
    usd REAL,
    answered_by TEXT,
    fingerprint TEXT,
    usage TEXT NOT NULL,
    detail TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_by_call ON attempt (call);
"""

ITEMS = """
CREATE TABLE benchmark (
    stamp TEXT NOT NULL REFERENCES study (stamp),
    benchmark TEXT NOT NULL,
    direction TEXT NOT NULL,
    unit TEXT NOT NULL,
    PRIMARY KEY (stamp, benchmark)
) STRICT, WITHOUT ROWID;
CREATE TABLE item (
    stamp TEXT NOT NULL,
    benchmark TEXT NOT NULL,
    item TEXT NOT NULL,
    unit TEXT NOT NULL,
    family TEXT NOT NULL,
    template TEXT,
    category TEXT,
    PRIMARY KEY (stamp, benchmark, item),
    FOREIGN KEY (stamp, benchmark) REFERENCES benchmark (stamp, benchmark)
) STRICT, WITHOUT ROWID;
CREATE TABLE shown (
    stamp TEXT NOT NULL,
    benchmark TEXT NOT NULL,
    item TEXT NOT NULL,
    option_order TEXT NOT NULL,
    digest TEXT NOT NULL,
    options INTEGER NOT NULL,
    points TEXT NOT NULL,
    gold INTEGER,
    matching INTEGER,
    unknown INTEGER,
    expected TEXT,
    PRIMARY KEY (stamp, benchmark, item, option_order),
    FOREIGN KEY (stamp, benchmark, item) REFERENCES item (stamp, benchmark, item)
) STRICT, WITHOUT ROWID;
ALTER TABLE cell ADD COLUMN method TEXT;
ALTER TABLE cell ADD COLUMN option_order TEXT;
ALTER TABLE cell ADD COLUMN replicates INTEGER;
"""

FIRST = """
CREATE TABLE study (
    stamp TEXT PRIMARY KEY,
    created TEXT NOT NULL,
    content TEXT NOT NULL
) STRICT;
CREATE TABLE prompt (
    id TEXT PRIMARY KEY,
    content TEXT NOT NULL
) STRICT;
CREATE TABLE call (
    id TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    precision TEXT NOT NULL,
    kind TEXT NOT NULL,
    prompt TEXT NOT NULL REFERENCES prompt (id),
    request TEXT NOT NULL,
    sent TEXT,
    answer TEXT,
    answer_digest TEXT,
    usage TEXT,
    seconds REAL,
    finished TEXT,
    CHECK ((answer IS NULL) = (answer_digest IS NULL))
) STRICT;
CREATE INDEX call_by_model ON call (model, precision);
CREATE TABLE cell (
    id INTEGER PRIMARY KEY,
    stamp TEXT NOT NULL REFERENCES study (stamp),
    key TEXT NOT NULL,
    model TEXT NOT NULL,
    benchmark TEXT NOT NULL,
    configuration TEXT NOT NULL,
    tier TEXT NOT NULL,
    shared INTEGER NOT NULL,
    UNIQUE (stamp, key)
) STRICT;
CREATE TABLE sample (
    cell INTEGER NOT NULL REFERENCES cell (id),
    item TEXT NOT NULL,
    replicate INTEGER NOT NULL,
    choice INTEGER,
    score INTEGER,
    evidence TEXT,
    PRIMARY KEY (cell, item, replicate)
) STRICT, WITHOUT ROWID;
CREATE TABLE trace (
    cell INTEGER NOT NULL,
    item TEXT NOT NULL,
    replicate INTEGER NOT NULL,
    step INTEGER NOT NULL,
    call TEXT NOT NULL REFERENCES call (id),
    PRIMARY KEY (cell, item, replicate, step),
    FOREIGN KEY (cell, item, replicate) REFERENCES sample (cell, item, replicate)
) STRICT, WITHOUT ROWID;
CREATE INDEX trace_by_call ON trace (call);
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    previous TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
"""
