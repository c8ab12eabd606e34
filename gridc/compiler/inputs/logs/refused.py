"""Formats that are known and not read: what their files lack, and where the score of each answer is."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from gridc.compiler.inputs.logs.bounded import LogFile

AS_TABLE = "as a table with the columns model, item and score (docs/logs.md)"

AGGREGATED = "each eval passes its examples' scores to `common.aggregate_results`: write that list"


@dataclass(frozen=True, slots=True)
class RefusedFormat:
    """By the names of its files, or by keys that only they have at the beginning."""

    package: str
    names: tuple[str, ...]
    keys: frozenset[str]
    why: str
    help: str

    def is_one(self, file: LogFile) -> bool:
        if file.suffix not in (".json", ".jsonl"):
            return False
        name = file.name.removesuffix(".gz")
        return any(fnmatchcase(name, pattern) for pattern in self.names) or file.head_keys >= self.keys


REFUSED = (
    RefusedFormat(
        "BFCL",
        ("BFCL_v*_score.json", "BFCL_v*_result.json"),
        frozenset(("accuracy", "correct_count", "total_count")),
        "a file of BFCL: its scores list only the entries that failed, and its results have no score",
        f"an id of BFCL_..._result.json scores 1 unless BFCL_..._score.json lists it: write that {AS_TABLE}",
    ),
    RefusedFormat(
        "MTEB",
        (),
        frozenset(("mteb_version", "scores")),
        "results of MTEB: one aggregate for each split and no score of an item",
        "run mteb with `--prediction-folder`, score the predictions one by one, and write the scores "
        f"{AS_TABLE}",
    ),
    RefusedFormat(
        "MTEB",
        ("*_predictions.json",),
        frozenset(("mteb_model_meta",)),
        "predictions of MTEB: they have no scores",
        f"score them one by one, and write the scores {AS_TABLE}",
    ),
    RefusedFormat(
        "simple-evals",
        (),
        frozenset(("score", "score:std")),
        "results of simple-evals: aggregates and no score of an item",
        f"{AGGREGATED} {AS_TABLE}",
    ),
    RefusedFormat(
        "simple-evals",
        ("*_allresults.json",),
        frozenset(("score", "metrics", "htmls", "convos")),
        "all results of simple-evals: they have the score of an item only within a page of HTML",
        f"{AGGREGATED} {AS_TABLE}",
    ),
    RefusedFormat(
        "DeepEval",
        (),
        frozenset(("testCases", "metricsScores")),
        "a test run of DeepEval, which need not say what model answered",
        "write each entry of `metricsData` in `testCases` as a row of a table with the columns model, "
        "question (`input`), reading (`name`) and score (docs/logs.md)",
    ),
)
