"""What lm-evaluation-harness, Inspect, promptfoo and providers' APIs call things, and what to write instead.

A help from here can be followed to the letter. It says "write `LINES` PLACE", where the place is "here" (the
line of the finding), a table of the spec, or a new table. Where gridc has no counterpart of a word, the help
says so, and to leave the word out.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from gridc.schema.effects import Effects, Method, Precision
from gridc.schema.jsonschema import toml_value

CALLS = r"|harness|level|values|benchmark|model|sampling|study|axis|engine"
"""The tables in which people write what a call should have. The top of a spec has no name."""


@dataclass(frozen=True, kw_only=True)
class ForeignWord:
    """A word of another tool, and what to write in gridc instead: lines, a key of gridc, or advice.

    Attributes:
        key: Matches the key, as a regular expression.
        value: Matches the value as TOML writes it, a text without its quotes.
        table: Matches the last name of the table that the key stands in.
        beside: Matches another key that the same table or its `loading.fields` must have.
        write: Lists the lines to write. A line goes into the table that the word was found in, or into
            [harness] where that table does not take the line's key; a line that begins with a table's header
            goes there. $0 stands for the value, $1 for what its first group matches, $list for a list of the
            value, and $names for a table that gives each entry of the value a name.
        write_if_missing: Lists further lines, for a table that lacks their key.
        new_table: Names the table that is added for all these lines.
        note: Follows the lines.
        advice: Is the whole help of a word that no line replaces; $0 and $1 as above.
        alias_of: Names the key of gridc that has the same meaning. The value is looked up among its values.
    """

    key: str
    value: str = r".*"
    table: str = CALLS
    beside: str = ""
    write: tuple[str, ...] = ()
    write_if_missing: tuple[str, ...] = ()
    new_table: str = ""
    note: str = ""
    advice: str = ""
    alias_of: str = ""


FUNCTION = ('method = "scorer"', 'scorer = { function = "python:scorers.py:NAME" }')
NO_CODE = (
    "gridc runs no code: Inspect or EvalPlus do, and what came of each sample can be given (docs/plugins.md)"
)
OPTIONS = "options|choices|doc_to_choice"
COLUMN = r"(?:\{\{ *)?([\w. -]+?)(?: *\}\})?"
"""Matches the name of a column, alone or as a template."""

KEYS = (
    # how often and of what
    ForeignWord(
        key=r"(num_?|n_?|k_?)?(few_?)?shots?|num_few_?shot|few_?shot(_k|_num|_examples)?|n_?examples|ice_num",
        value=r"\d+|\[[\d, ]+\]",
        write=("shots = $0",),
        write_if_missing=('[[benchmark]] exemplars = { pool = "rest", seed = 42 }',),
        note="they are drawn from items outside of `sample`",
    ),
    ForeignWord(
        key=r"few_?shot_(random_)?seed", write=('[[benchmark]] exemplars = { pool = "rest", seed = $0 }',)
    ),
    ForeignWord(
        key=r"few_?shot_as_multi_?turn", write=('exemplars_as = "turns"',), note="with chat_template = true"
    ),
    ForeignWord(
        key=r"(few_?shot|training)_split",
        advice="leave it out: exemplars are drawn from items outside of `sample`",
    ),
    ForeignWord(
        key="limit|max_(samples|examples|instances|eval_instances|items)|(num|n)_(items|examples|"
        "instances)|subsample",
        value=r"[1-9]\d*",
        write=("[[benchmark]] sample = { n = $0, seed = 42 }",),
        note="that many items, sampled with this seed",
    ),
    ForeignWord(
        key=r"limit|subsample",
        value=r"0?\.\d+",
        write=("[[benchmark]] sample = { share = $0, seed = 42 }",),
        note="that share of the items, sampled with this seed",
    ),
    ForeignWord(
        key=r"n|(num|n)_samples",
        value=r"\d+",
        table="benchmark",
        write=("sample = { n = $0, seed = 42 }",),
        note="that many items, sampled with this seed",
    ),
    ForeignWord(
        key="n|epochs?|repeats?|repetitions?|trials|runs|replicas|num_return_sequences|num_choices|"
        "best_of|(num|n)_(samples|generations|trials|runs|repeats|repetitions|epochs)",
        value=r"\d+|\[[\d, ]+\]",
        write=("replicates = $0",),
        note="that many answers to each item; they differ where `temperature` is above 0",
    ),
    ForeignWord(
        key=r"(random_|numpy_|torch_|sample_)?seeds?",
        value=r"\d+",
        table="|harness|level|model|benchmark|study|axis|engine",
        write=("[sampling] seed = $0",),
        note="it seeds the answers that are sampled; the draw of items has a seed of its own, in `sample`",
    ),
    # decoding
    ForeignWord(key=r"top_k", value="1", write=("temperature = 0.0",), note="the likeliest token each time"),
    ForeignWord(
        key="top_k|min_p|top_a|typical_p|(repetition|frequency|presence|length)_penalty|logit_bias|"
        "num_beams|beam_size|no_repeat_ngram_size|early_stopping|mirostat",
        advice="leave it out: answers are drawn by `temperature` and `top_p` alone",
    ),
    ForeignWord(
        key=r"do_sample|sample", value="false", table="|harness|level|model", write=("temperature = 0.0",)
    ),
    ForeignWord(
        key=r"do_sample|sample", value="true", table="|harness|level|model", write=("temperature = 1.0",)
    ),
    ForeignWord(
        key="max_(gen_tok(en)?s|new_tokens?|completion_tokens|output_tokens|tokens_to_sample|length|len|"
        "gen_len(gth)?)|max_out_len|num_predict",
        value=r"\d+|\[[\d, ]+\]",
        write=("max_tokens = $0",),
    ),
    ForeignWord(
        key=r"stop_(sequences?|seqs?|strings?|words?|tokens?)|until|stops|eos(_string)?|end_sequences",
        write=("stop = $list",),
        note="they cut what is read of an answer",
    ),
    ForeignWord(
        key=r"stop_token_ids|ignore_eos|eos_token_id",
        advice="leave it out: `stop` lists texts, and a model's own end counts",
    ),
    ForeignWord(
        key=r"logprobs|top_logprobs|echo|stream|cache(_prompt|_requests)?|use_cache",
        advice="leave it out: it is asked for where a method needs it, and every answer is kept",
    ),
    ForeignWord(
        key=r"response_format|response_schema|json_mode|json_schema|guided_\w+",
        advice="leave it out: the words of `prompt` ask for a format, and a function of method `scorer` can "
        "read it",
    ),
    # prompts
    ForeignWord(
        key=r"doc_to_text|query|input|question",
        value=r"[\w. -]+",
        table="|harness|benchmark",
        write=("[[benchmark]] loading.fields.query = $0",),
        note="the column of the question",
    ),
    ForeignWord(
        key=r"doc_to_text|(prompt|user|question|input|query)(_template|_text|_format)?|template",
        value=r"(?!\{ |\[[{\"]).*",
        write=("prompt = $0",),
    ),
    ForeignWord(key=r"prompts", value=r'\[("[^"\\]*")\]', write=("prompt = $1",)),
    ForeignWord(
        key=r"prompts",
        value=r"\[.+\]",
        write=('id = "prompt"', "values = { prompt = $names }", 'tier = "core"', 'provenance = "ours"'),
        new_table="axis",
        note="each is a configuration of its own",
    ),
    ForeignWord(
        key=r"doc_to_target|target|answers?|label|gold|correct_(answer|option)|answer_(index|idx|key)",
        value=COLUMN,
        table="benchmark",
        beside=OPTIONS,
        write=('[[benchmark]] loading.fields.gold = "$1"',),
        note="the column that names the right option",
    ),
    ForeignWord(
        key=r"doc_to_target|target|answers?|label|gold|ideal|expected_output|reference_answer",
        value=COLUMN,
        table="|harness|benchmark",
        write=('[[benchmark]] loading.fields.references = ["$1"]',),
        note="the column of the right answer",
    ),
    ForeignWord(
        key=r"doc_to_choice|choices",
        value=COLUMN,
        table="|harness|benchmark",
        write=('[[benchmark]] loading.fields.options = ["$1"]',),
        note="the column of the options",
    ),
    ForeignWord(
        key=r"doc_to_choice|choices",
        value=r"\[.*\]",
        table="|harness|benchmark",
        write=("[[benchmark]] loading.fields.options = $0",),
        note="the columns of the options",
    ),
    ForeignWord(
        key=r"(sys|system)_?(prompt|message|msg|instructions?|content|text)|instructions?|persona",
        write=("system = $0",),
    ),
    ForeignWord(
        key=r"description|instruction_prefix",
        table=r"|harness|level|benchmark",
        advice="leave it out: its words go to the head of `prompt`, or into `system`",
    ),
    ForeignWord(key=r"(apply|use)_?chat_template|chat", value="true|false", write=("chat_template = $0",)),
    ForeignWord(
        key=r"apply_chat_template|chat_template_name",
        advice="leave it out: a model's chat template comes with its files",
    ),
    ForeignWord(key=r"target_delimiter", write=("delimiter = $0",)),
    ForeignWord(key=r"few_?shot_delimiter", write=("separators = { blocks = $0 }",)),
    ForeignWord(
        key=r"shuffle(_choices|_options|_answers)?|randomi[sz]e_(choices|options)",
        value="true",
        write=('option_order = "shuffled:42"',),
        note="of the options; the order of items changes nothing",
    ),
    ForeignWord(
        key=r"shuffle(_choices|_options|_answers)?|randomi[sz]e_(choices|options)",
        value="false",
        write=('option_order = "file"',),
    ),
    ForeignWord(
        key=r"cot|(use_)?chain_of_thought|think_step_by_step|reason_first",
        value="true",
        write=('scaffold = { kind = "cot" }',),
    ),
    ForeignWord(
        key=r"cot|(use_)?chain_of_thought|think_step_by_step|reason_first",
        value="false",
        advice="leave it out: gridc adds no reasoning instruction of its own; only "
        "a scaffold or the prompt asks for one",
    ),
    ForeignWord(
        key=r"solvers?|agent|strategy",
        value=r".*chain_of_thought.*|cot",
        write=('scaffold = { kind = "cot" }',),
    ),
    ForeignWord(
        key=r"solvers?|agent|strategy", value=r".*self_critique.*", write=('scaffold = { kind = "critic" }',)
    ),
    ForeignWord(
        key=r"solvers?|agent|strategy",
        value=r".*(react|basic_agent).*",
        write=('scaffold = { kind = "react" }',),
    ),
    ForeignWord(
        key=r"solvers?|agent|strategy",
        advice="leave it out: a plain call is what is asked; `scaffold` says any other procedure",
    ),
    ForeignWord(
        key=r"reasoning_effort|effort", value="minimal|low|medium|high|xhigh|max", write=("thinking = $0",)
    ),
    ForeignWord(
        key="(max_)?(thinking|reasoning)_(token_)?budget(_tokens)?|budget_tokens|max_(thinking|reasoning)_tokens",
        value=r"[2-9]|\d{2,}",
        write=("thinking = $0",),
        note="the most tokens of its thought, fewer than `max_tokens`",
    ),
    ForeignWord(
        key=r"(enable_|use_)?(thinking|reasoning)(_mode)?|reasoning_effort",
        value="false|none|off",
        write=("thinking = false",),
    ),
    ForeignWord(
        key=r"(enable_|use_)?(thinking|reasoning)(_mode)?", value="true|on", write=("thinking = true",)
    ),
    # scores
    ForeignWord(
        key="metrics?(_list)?|scorers?|scoring|scores?_by|grader?s?|assert(ion)?s?|evaluators?|"
        "evaluation|output_type|judge_by",
        alias_of="method",
    ),
    ForeignWord(
        key=r"aggregation|reducers?|epochs_reducer",
        advice="leave it out: `aggregate` says what becomes of an item's replicates",
    ),
    ForeignWord(
        key=r"filter(s|_list)?|regex_pattern|postprocess\w*|extraction|answer_pattern",
        advice="leave it out: match = { as = ..., after = ... } says where an answer stands, or a function "
        "of method `scorer` reads it",
    ),
    ForeignWord(key=r"higher_is_better", value="true", table="benchmark", write=('direction = "higher"',)),
    ForeignWord(key=r"higher_is_better", value="false", table="benchmark", write=('direction = "lower"',)),
    ForeignWord(
        key=r"(pass_)?threshold|passing_score|pass_mark",
        value=r"0?\.\d+|[01](\.0)?",
        write=('[analysis] thresholds = [{ at = $0, declared = "ex_ante", source = "ours" }]',),
    ),
    # items
    ForeignWord(
        key=r"(hf_)?(dataset|data|repo)(_path|_repo|_id|_name|_file|_files)?|path|files?(name|_path)?",
        value=r"(?:file:/?/?)?((?!/)[^:]+\.(?:csv|tsv|jsonl?|parquet))",
        table="benchmark",
        write=('source = "path:$1"',),
    ),
    ForeignWord(
        key=r"(hf_)?(dataset|data|repo)(_path|_repo|_id)?|path",
        value=r"([\w.\-]+/[\w.\-]+)",
        table="benchmark",
        advice='write its file as the `source`: "hf:$1@REVISION?config=NAME&split=NAME", or "path:FILE" '
        "beside the spec",
    ),
    ForeignWord(
        key=r"dataset_name|config(_name)?|subset|name|(test_|validation_)?split",
        table="benchmark",
        advice='leave it out: the `source` says it, "hf:OWNER/NAME@REVISION?config=NAME&split=NAME"',
    ),
    ForeignWord(
        key=r"datasets?|data(_path)?|tasks?(_name)?|evals?|benchmarks",
        value=r"(?!classify|respond).*",
        table="benchmark",
        advice="leave it out: the table has an `id`, a `loader` and a `source` of its items (`gridc docs "
        "benchmarks`)",
    ),
    ForeignWord(
        key=r"tasks?|datasets?|data|evals?|benchmarks|suites?",
        value=r"\[?\{.*",
        table="",
        write=("[[benchmark]]",),
    ),
    ForeignWord(
        key=r"tasks?|datasets?|data|evals?|benchmarks|suites?",
        table="|harness|study",
        advice="leave it out: what is asked is a [[benchmark]] with an `id`, a `loader` and a `source` "
        "(`gridc docs benchmarks`)",
    ),
    ForeignWord(
        key=r"tests?(_cases)?|cases",
        table="",
        advice='leave it out: items are rows of a file, asked by a [[benchmark]] with loader = "rows"',
    ),
    # models
    ForeignWord(key=r"providers?|llms?|endpoints?|models", value=r"\[?\{.*", table="", write=("[[model]]",)),
    ForeignWord(
        key=r"providers?|llms?|models?",
        value=r'\[?"?(\w+)[:/](?:chat:|messages:)?([\w.\-]+)"?\]?',
        table="|harness|study",
        write=('id = "$2"', 'engine = "api"', 'source = "$1/$2"'),
        new_table="model",
    ),
    ForeignWord(
        key=r"provider",
        value=r"openai|anthropic|google|azure|litellm|mistral|groq|together\w*|openrouter|bedrock|vertex\w*",
        table="model",
        write=('engine = "api"',),
    ),
    ForeignWord(
        key=r"provider|backend|model_type",
        value=r"hf|huggingface|transformers|local",
        table="model",
        write=('engine = "hf"',),
    ),
    ForeignWord(
        key=r"pretrained|model(_name|_id|_path|_name_or_path)?|hf_(model|repo)|checkpoint|repo(_id)?",
        value=r"([\w.\-]+/[\w.\-]+)",
        table="model",
        write=('source = "hf:$1"', 'engine = "hf"'),
    ),
    ForeignWord(
        key=r"pretrained|hf_(model|repo)",
        value=r"([\w.\-]+)",
        table="model",
        write=('source = "hf:$1"', 'engine = "hf"'),
    ),
    ForeignWord(
        key=r"model(_name|_id)?|deployment(_name)?",
        value=r"[\w.\-:/]+",
        table="model",
        write_if_missing=("source = $0",),
    ),
    ForeignWord(
        key=r"name",
        value=r"[A-Za-z0-9][\w.\-]*",
        table="model|axis|level|study|slice|hypothesis|fork|curve|family",
        write_if_missing=("id = $0",),
    ),
    ForeignWord(
        key=r"label|display_name|description|comment|notes?", table="model|benchmark", write=("note = $0",)
    ),
    ForeignWord(
        key=r"(torch_)?dtype|precision|quanti[sz](e|ation)(_config)?|weights?_dtype|bits",
        table="|harness|level|model",
        alias_of="precision",
    ),
    ForeignWord(key=r"load_in_4bit", value="true", write=('precision = "nf4"',)),
    ForeignWord(key=r"load_in_8bit", value="true", write=('precision = "int8"',)),
    ForeignWord(key=r"load_in_[48]bit", value="false", advice="leave it out"),
    ForeignWord(
        key=r"api_key|openai_api_key|token|key|secret",
        table="model|judge",
        advice="leave it out: a spec holds no secrets; `key_env` names the environment variable that has "
        "the key, where it is not the provider's usual one",
    ),
    ForeignWord(
        key=r"(openai_)?(api_base|base_ur[il]|api_url|url|endpoint|host|server_url)(_url)?",
        value=r"https?://.*",
        write=('[[model]] engine = "api"', "[[model]] base_url = $0"),
        note="the `source` is the name that the server knows the model by",
    ),
    # how it is run
    ForeignWord(
        key=r"device(_map)?",
        value=r"(cuda|cpu|auto)(:\d+)?",
        table="|harness|model|study",
        write=('[engine] device = "$1"',),
    ),
    ForeignWord(key=r"(max_)?batch_size", value=r"\d+", write=("[engine] batch_prompts = $0",)),
    ForeignWord(
        key=r"(max_)?batch_size",
        advice="leave it out: a batch takes as many prompts as fit `kv_mib` of [engine]",
    ),
    ForeignWord(
        key="(max_)?(connections|concurrency|num_concurrent|num_workers|concurrent_requests)|"
        "num_(concurrent|workers)",
        value=r"\d+",
        write=("[engine] concurrency = $0",),
    ),
    ForeignWord(
        key=r"(max_|num_)?retries",
        value=r"\d+",
        write=("[engine] attempts = $0",),
        note="the first one counts",
    ),
    ForeignWord(
        key=r"(request_|api_)?timeout(_s|_seconds)?", value=r"[\d.]+", write=("[engine] timeout_s = $0",)
    ),
    ForeignWord(
        key=r"time_limit|working_limit",
        value=r"[\d.]+",
        table=CALLS + "|budget",
        write=("[budget] wall_s = $0",),
        note="of the whole run",
    ),
    ForeignWord(
        key=r"(max_)?(cost|usd|dollars|spend)(_limit)?",
        value=r"[\d.]+",
        table=CALLS + "|budget",
        write=("[budget] usd = $0",),
    ),
    ForeignWord(
        key=r"(max_)?(calls|requests)|limit", value=r"\d+", table="budget", write=("[budget] calls = $0",)
    ),
    ForeignWord(
        key=r"(max_|total_)?tokens?(_limit)?", value=r"\d+", table="budget", write=("[budget] tokens = $0",)
    ),
    ForeignWord(
        key="message_limit|token_limit|sandbox|trust_remote_code|verbosity|log_(level|dir|samples)|"
        "output_path|write_out|fail_on_error",
        advice="leave it out: it has no counterpart here",
    ),
    # tables within
    ForeignWord(key=r"model|model_name|name|provider", table="judge", write=("source = $0",)),
    ForeignWord(
        key=r"prompt|template|criteria|instructions?|rubric_prompt", table="judge", write=("rubric = $0",)
    ),
    ForeignWord(
        key=r"temperature|top_p|(random_)?seed",
        table="judge",
        advice="leave it out: judges are asked at temperature 0",
    ),
    ForeignWord(
        key=r"(prompt|question|input|text|problem|stem)(_column|_field)?",
        table="fields",
        write=("query = $0",),
    ),
    ForeignWord(
        key=r"(target|answers?|label|correct|right|answer_(index|idx|key))(_column|_field)?",
        table="fields",
        beside=OPTIONS,
        write=("gold = $0",),
    ),
    ForeignWord(
        key="(target|answers?|label|ideal|references?|solution|output|correct|expected_answer|"
        "right)(_column|_field)?",
        table="fields",
        write=("references = $list",),
    ),
    ForeignWord(key=r"choices?|candidates|alternatives", table="fields", write=("options = $list",)),
    ForeignWord(
        key=r"regex|pattern",
        table="match",
        write=FUNCTION,
        note="a function says it, and `match` is left out",
    ),
    ForeignWord(
        key=r"type|kind|method|mode", value="number|text|contains|exact", table="match", write=("as = $0",)
    ),
    ForeignWord(
        key=r"ignore_case|case_sensitive|ignore_punctuation|ignore_numbers|strip",
        table="match",
        advice='leave it out: as = "text" ignores case, punctuation and articles, as = "exact" nothing',
    ),
    ForeignWord(key=r"tolerance|atol|abs_tol|eps", table="match", write=("within = $0",)),
    ForeignWord(key=r"prefix|marker|location", table="match", write=("after = $0",)),
    ForeignWord(
        key=r"baseline|control_level|compared_to|against|versus",
        table="hypothesis",
        write=("reference = $0",),
    ),
    ForeignWord(key=r"treatment|variant|arm|condition", table="hypothesis", write=("level = $0",)),
    ForeignWord(key=r"type|test", table="hypothesis", write=("kind = $0",)),
    ForeignWord(
        key=r"alternative|direction|tail",
        value="greater|less|two-sided",
        table="hypothesis",
        write=("side = $0",),
    ),
    ForeignWord(
        key=r"source", table="level", advice="in the axis: levels = { source = ..., id = ..., prompt = ... }"
    ),
    ForeignWord(
        key=r"models?",
        table="values",
        advice='models are levels already, which contrasts name by axis = "model"',
    ),
    ForeignWord(
        key=r"images?|pictures?|audio|videos?|sound",
        table=".*",
        advice="leave it out: gridc asks only texts; for pictures and sound use Inspect or VLMEvalKit",
    ),
)
"""Keys that the language does not have. Rows are tried in order, and the first match is used."""

VALUES = (
    ForeignWord(
        key="method",
        value=r"(python:|plugin:).+|.+\.py.*",
        write=('method = "scorer"', "scorer = { function = $0 }"),
    ),
    ForeignWord(
        key="method",
        value=r"perplexity|ppl|bpb|bits[ _-]per[ _-]byte|nll|loss",
        write=('method = "text_likelihood"',),
    ),
    ForeignWord(
        key="method",
        value=r"pass[@_ -].*",
        write=("aggregate = { pass_at = 5 }",),
        note="beside another method. Of code: " + NO_CODE,
    ),
    ForeignWord(key="method", value=r"(code|exec|sandbox|unit_?test|human_?eval).*", advice=NO_CODE),
    ForeignWord(
        key="method",
        value=r"(quasi_)?(exact|exact_match|em|equals?|is|strict_match)",
        write=('method = "match"', 'match = { as = "exact" }'),
        note='as = "text" ignores case, punctuation and articles',
    ),
    ForeignWord(
        key="method",
        value=r"i?(includes?|contains)|icontains|substring",
        write=('method = "match"', 'match = { as = "contains" }'),
    ),
    ForeignWord(
        key="method",
        value=r"numbers?|numeric|gsm8k|math",
        write=('method = "match"', 'match = { as = "number" }'),
    ),
    ForeignWord(
        key="method",
        value=r"text|squad|answer|flexible.extract",
        write=('method = "match"', 'match = { as = "text" }'),
    ),
    ForeignWord(
        key="method",
        value=r"regex|pattern|rouge.*|comet|similar|levenshtein|is-json|javascript|python",
        write=FUNCTION,
        note="a function says it",
    ),
    ForeignWord(
        key="method",
        value=r"(f1|bleu|chrf|precision|recall|auroc|brier)",
        write=('id = "$1"',),
        new_table="statistic",
        note="beside a `method` that reads single answers",
    ),
    ForeignWord(
        key="kind",
        value="ece|expected_calibration_error|calibration",
        table="statistic",
        write=('kind = "calibration_error"',),
    ),
    ForeignWord(key="kind", value="roc_?auc|auc|AUROC", table="statistic", write=('kind = "auroc"',)),
    ForeignWord(
        key="kind", value="mcc|matthews_corrcoef|phi", table="statistic", write=('kind = "matthews"',)
    ),
    ForeignWord(key="kind", value="elo|bradley_terry|bt", table="statistic", write=('kind = "strength"',)),
    ForeignWord(key="kind", value="(mean_)?win_?rate", table="statistic", write=('kind = "win_rate"',)),
    ForeignWord(key="kind", value="BLEU|sacrebleu|corpus_bleu", table="statistic", write=('kind = "bleu"',)),
    ForeignWord(
        key="kind", value=r"chrF(\+\+)?|CHRF|chrf\+\+|chrf2", table="statistic", write=('kind = "chrf"',)
    ),
    ForeignWord(
        key="kind",
        value=r"pass[@_ -]?(?:at|k)?[@_ -]?(\d*)",
        table="statistic",
        write=('kind = "pass_at"', "k = $1"),
    ),
    ForeignWord(
        key="kind",
        value=r"pass(?:\^|_hat_?|_all_?|_power_?)k?(\d*)",
        table="statistic",
        write=('kind = "pass_all"', "k = $1"),
    ),
    ForeignWord(
        key="kind", value="macro|mean|average|macro_avg", table="statistic", write=('kind = "macro_mean"',)
    ),
    ForeignWord(
        key="method",
        value=r"acc_norm|acc_norm_char",
        write=('method = "loglikelihood"', 'normalise = "char"'),
    ),
    ForeignWord(
        key="method",
        value=r"acc_bytes|acc_norm_bytes",
        write=('method = "loglikelihood"', 'normalise = "byte"'),
    ),
    ForeignWord(
        key="method",
        value=r"multiple_choice|mc\d?|acc|log_?probs?|loglikelihood_\w+",
        write=('method = "loglikelihood"',),
        note="`extract` reads the letter of an answer instead",
    ),
    ForeignWord(
        key="method",
        value=r"choices?|accuracy|letter|generate_until|generat\w+",
        write=('method = "extract"',),
        note="`loglikelihood` ranks the options instead",
    ),
    ForeignWord(
        key="method",
        value=r"(llm|model|gpt|g-eval|factuality).*",
        write=('method = "judge"',),
        note="[judge] names the judging model and its rubric",
    ),
    ForeignWord(
        key="method",
        value=r"pairwise|preference|win_?rate|elo|arena",
        write=('method = "judge"',),
        note="`compares` in [judge] names what it is compared with",
    ),
    ForeignWord(
        key="as|match",
        value=r"regex|pattern|f1|bleu|rouge.*|chrf.*",
        write=FUNCTION,
        note="a function says it",
    ),
    ForeignWord(key="match", value=r"(exact|contains|number|text)", write=('match = { as = "$1" }',)),
    ForeignWord(key="match", value=r"exact_match|em|equals?|strict", write=('match = { as = "exact" }',)),
    ForeignWord(key="match", value=r"includes?|substring", write=('match = { as = "contains" }',)),
    ForeignWord(key="scorer", alias_of="method"),
    ForeignWord(
        key="sample",
        value=r"[1-9]\d*",
        write=("sample = { n = $0, seed = 42 }",),
        note="that many items, sampled with this seed",
    ),
    ForeignWord(
        key="sample",
        value=r"0?\.\d+",
        write=("sample = { share = $0, seed = 42 }",),
        note="that share of the items, sampled with this seed",
    ),
    ForeignWord(key="levels", value=r"\[\{.*", write=("[[axis.level]]",)),
    ForeignWord(
        key="aggregate", value=r"pass[@_ -]?(?:at)?[_ -]?(\d*)", write=("aggregate = { pass_at = $1 }",)
    ),
    ForeignWord(
        key="aggregate",
        value=r"(?:any|best)[@_ -]?(?:of)?[_ -]?(\d*)",
        write=("aggregate = { pass_at = $1 }",),
    ),
    ForeignWord(
        key="aggregate",
        value=r"(?:pass_?all|all|pass\^|min)[@_ -]?(\d*)",
        write=("aggregate = { pass_all = $1 }",),
    ),
    ForeignWord(
        key="aggregate", value=r"maj.*|vote|mode|self.consistency", write=('aggregate = "majority"',)
    ),
    ForeignWord(
        key="all_of",
        value=r"pairs?|group|set|both",
        write=('all_of = "family"',),
        note="`loading.fields.family` names its column",
    ),
    ForeignWord(key="thinking", value=r"on|yes|enabled", write=("thinking = true",)),
    ForeignWord(key="thinking", value=r"off|no|disabled", write=("thinking = false",)),
    ForeignWord(
        key="thinking",
        value=r"([2-9]|\d{2,})",
        write=("thinking = $1",),
        note="the most tokens of its thought: a number has no quotes",
    ),
    ForeignWord(
        key="thinking",
        value=r"-?\d*\.?\d+|\{.*",
        advice="true, false, an effort, or the most tokens of its thought: a whole number from 2",
    ),
    ForeignWord(
        key="tools",
        advice="`loading.fields.tools` is the column of an item's own tools, which need no name here. Known "
        "here: `calculator`, `text_search`, `scratchpad`",
    ),
    ForeignWord(key="precision", value=r"(torch\.)?(float32|float|full|32)", write=('precision = "fp32"',)),
    ForeignWord(key="precision", value=r"(torch\.)?(float16|half|16)", write=('precision = "fp16"',)),
    ForeignWord(key="precision", value=r"(torch\.)?bfloat16", write=('precision = "bf16"',)),
    ForeignWord(key="precision", value=r"8|8bit|llm\.int8|bitsandbytes_8bit", write=('precision = "int8"',)),
    ForeignWord(key="precision", value=r"4|4bit|int4|bnb|bitsandbytes(_4bit)?", write=('precision = "nf4"',)),
    ForeignWord(key="precision", value=r"auto|gptq|awq|fp8", write=('precision = "as_shipped"',)),
    ForeignWord(
        key="direction", value=r"max(imi[sz]e|imum)?|up|true|asc(ending)?", write=('direction = "higher"',)
    ),
    ForeignWord(
        key="direction", value=r"min(imi[sz]e|imum)?|down|false|desc(ending)?", write=('direction = "lower"',)
    ),
    ForeignWord(
        key="base_url",
        value=r"(https?://[^/]+)/+",
        write=('base_url = "$1/v1"',),
        note="below /v1 most servers answer",
    ),
    ForeignWord(key="base_url", value=r"(https?://.*?)/+", write=('base_url = "$1"',)),
    ForeignWord(
        key="base_url",
        value=r"((?:localhost|[\d.]+)(?::\d+)?)/?",
        write=('base_url = "http://$1/v1"',),
        note="below /v1 most servers answer",
    ),
    ForeignWord(
        key="base_url", value=r"((?:localhost|[\d.]+)(?::\d+)?/[^/].*?)/*", write=('base_url = "http://$1"',)
    ),
    ForeignWord(
        key="base_url",
        value=r"([\w\-]+(?:\.[\w\-]+)+(?::\d+)?(?:/[^/].*?)?)/*",
        write=('base_url = "https://$1"',),
    ),
    ForeignWord(
        key="engine",
        value=r"(sglang|llama\.cpp)",
        write=('engine = "api"', 'server = "$1"'),
        note="its address goes into `base_url`",
    ),
    ForeignWord(
        key="engine",
        value=r"ollama|lmstudio|tgi|server",
        write=('engine = "api"',),
        note="its address goes into `base_url`",
    ),
    ForeignWord(
        key="engine",
        value=r"azure|google|gemini|vertex\w*|mistral|groq|together\w*|openrouter|bedrock",
        write=('engine = "api"',),
    ),
    ForeignWord(
        key="loader",
        value=r"gsm8k|hellaswag|arc\w*|squad\w*|trivia_?qa|winogrande|piqa|boolq|drop|math\w*|gpqa|hf|"
        r"huggingface|dataset\w*",
        write=('loader = "rows"',),
        note="`loading.fields` says which column is what",
    ),
    ForeignWord(
        key="source",
        value=r"(?:hf:)?([\w.\-]+/[\w.\-]+)(?<!\.csv)(?<!\.json)(?<!\.jsonl)(?<!\.parquet)",
        table="benchmark",
        advice='write `source = "hf:$1@REVISION?config=NAME&split=NAME"` here with those '
        'of its page; or "path:FILE"',
    ),
    ForeignWord(
        key=r"\w+",
        value=r"[-+]?(nan|inf(inity)?)|none|null|n/a",
        advice="leave it out, and it has its default",
    ),
)
"""Values that a key of the language does not take, in whichever table unless one is said."""

LONGEST = 5000
"""Characters of a key and of a value that rows are matched against."""

ANY_K = "5"
"""Stands for a number that the word leaves out, such as the k of `pass@k`."""

GROUPS = (
    r"scoring|scorer|metric|gen(eration|erate)?(_?(kwargs|config|params|parameters|args))?|decoding|llm_config"
    r"|(sampling|default)_?(options|params|parameters|args)|(model|extra)_(base_)?(args|kwargs)"
    r"|options|params|parameters|args|config|defaults?|default_?test|task_defaults"
)
"""Matches keys of other tools that hold a group of keys."""

TAKES: Mapping[str, Collection[object]] = {"method": get_args(Method), "precision": get_args(Precision)}
"""Lists the values of each key that a row is an alias of."""


def value_meant(path: Sequence[object], value: object, document: Mapping[str, Any] = {}) -> str | None:
    """Say what to write instead of a value of another tool, or None for an unknown value."""
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    return _Place(path[:-1], document, None).help(VALUES, key, value)


def key_meant(
    table: Sequence[object], key: str, value: object, document: Mapping[str, Any], known: Collection[str]
) -> str | None:
    """Say what to write instead of a key of another tool, or None for an unknown key.

    `table` is the path of the table that it stands in, and `known` are the keys that this table takes.
    """
    return _Place(table, document, known).help(KEYS, key, value)


class _LineToWrite(NamedTuple):
    """A line to write, as its row has it."""

    text: str
    new_table: str = ""
    if_missing: bool = False


class _GridcWords(NamedTuple):
    """What a word means: the lines to write instead and the words after them, or advice alone."""

    lines: list[_LineToWrite]
    note: str


class _LinePlace(NamedTuple):
    """Where a line goes: the text to write there, the place in words, and the tables of the document that get
    it. A new table is none of the document's."""

    text: str
    place: str
    tables: list[Mapping[str, Any]]


@dataclass(frozen=True)
class _Place:
    """The table that a word was found in, and the keys that it takes; None stands for every key."""

    path: Sequence[object]
    document: Mapping[str, Any]
    known: Collection[str] | None

    @property
    def name(self) -> str:
        """The last name of the table's path, empty at the top."""
        return str(next((part for part in reversed(self.path) if isinstance(part, str)), ""))

    @property
    def content(self) -> Mapping[str, Any]:
        """The table itself, empty where the document does not have it."""
        table: Any = self.document
        for part in self.path:
            try:
                table = table[part]
            except (LookupError, TypeError):
                return {}
        return _as_table(table)

    def help(self, rows: Sequence[ForeignWord], key: str, value: object) -> str | None:
        """Say what to write instead of a key with its value; of a group of keys, instead of each of them."""
        grouped = _grouped(value) if rows is KEYS and re.fullmatch(GROUPS, key, re.IGNORECASE) else {}
        meanings = {name: self._meaning(KEYS, name, inner) for name, inner in grouped.items()}
        lines = [line for meaning in meanings.values() for line in meaning.lines]
        if lines:
            unknown = " and ".join(f"`{name}`" for name, meaning in meanings.items() if not meaning.lines)
            return self._sentence(lines, unknown and f"leave out {unknown}, which gridc does not have", key)
        meaning = self._meaning(rows, key, value)
        return (self._sentence(*meaning, key) if meaning.lines else meaning.note) or None

    def _meaning(self, rows: Sequence[ForeignWord], key: str, value: object) -> _GridcWords:
        """Look a key with its value up; both parts are empty where nothing is known."""
        row, match = self._first_row(rows, key, value)
        if row is not None and row.alias_of:
            return self._meaning_of_value(row.alias_of, _main_value(value))
        if row is not None and match is not None:
            lines = [
                *(_LineToWrite(_filled(line, value, match), row.new_table) for line in row.write),
                *(
                    _LineToWrite(_filled(line, value, match), row.new_table, True)
                    for line in row.write_if_missing
                ),
            ]
            return _GridcWords(lines, _filled(row.note or row.advice, value, match))
        tables = isinstance(value, list) and any(isinstance(entry, dict) for entry in value)
        if rows is KEYS and not tables and key in Effects.model_fields and re.fullmatch(CALLS, self.name):
            note = "every model is asked alike" if self.name == "model" else ""
            return _GridcWords([_LineToWrite(f"{key} = {toml_value(value)}")], note)
        return _GridcWords([], "")

    def _first_row(
        self, rows: Sequence[ForeignWord], key: str, value: object
    ) -> tuple[ForeignWord | None, re.Match[str] | None]:
        """Find the first row that fits, and how its `value` matches. An alias fits any value."""
        text = (value if isinstance(value, str) else toml_value(value))[:LONGEST]
        content = self.content
        neighbours = [*content, *_as_table(_as_table(content.get("loading")).get("fields"))]
        for row in rows:
            in_table = (rows is VALUES and row.table == CALLS) or re.fullmatch(row.table, self.name)
            if row.beside and not any(re.fullmatch(row.beside, name) for name in neighbours):
                continue
            if in_table and re.fullmatch(row.key, key[:LONGEST], re.IGNORECASE):
                match = re.fullmatch(row.value, text, re.IGNORECASE | re.DOTALL)
                if match is not None or row.alias_of:
                    return row, match
        return None, None

    def _meaning_of_value(self, key: str, value: object) -> _GridcWords:
        """Look up the value of a key whose name in gridc is `key`."""
        if value in TAKES[key]:
            return _GridcWords([_LineToWrite(f"{key} = {toml_value(value)}")], "")
        meaning = self._meaning(VALUES, key, value)
        if meaning.lines or meaning.note:
            return meaning
        values = ", ".join(f"`{name}`" for name in TAKES[key])
        return _GridcWords([], f"leave it out: `{key}` says it here: {values}")

    def _sentence(self, lines: Iterable[_LineToWrite], note: str, key: str) -> str:
        """Say what to write and where, the lines of one place together, and then the note."""
        texts_at: dict[str, list[str]] = {}
        replaced_at: dict[str, list[str]] = {}
        for line in lines:
            text, place, tables = self._target(line)
            name = next(iter(_parsed(text)), "")
            in_level = place == "here" and self.name in ("level", "values")
            if tables and not in_level and (axis := self._axis_that_sets(name)) is not None:
                reason = f"the axis `{axis}` sets `{name}` in each of its levels: change it there"
                note = "; ".join(filter(None, [reason, note]))
                continue
            with_key = [table for table in tables if name in table]
            if (
                tables
                and len(with_key) == len(tables)
                and (line.if_missing or all(table[name] == _parsed(text)[name] for table in tables))
            ):
                continue
            texts_at.setdefault(place, []).append(f"`{text}`")
            if with_key and name != key:
                replaced_at.setdefault(place, []).append(f"`{name}`")
        parts = [
            f"{_enumerated(texts)} {place}"
            + (
                f", in place of the {_enumerated(replaced_at[place])} that is there"
                if place in replaced_at
                else ""
            )
            for place, texts in texts_at.items()
        ]
        return "; ".join(filter(None, [f"write {', and '.join(parts)}" if parts else "leave it out", note]))

    def _axis_that_sets(self, key: str) -> object:
        """Find the axis whose levels all set a key, so that no other table has a say."""
        axes = self.document.get("axis")
        for axis in axes if isinstance(axes, list) else ():
            levels = _as_table(axis).get("level")
            settings = [_as_table(level).get(key) for level in levels] if isinstance(levels, list) else []
            if settings and not any(value is None or isinstance(value, dict) for value in settings):
                return axis.get("id")
            if key in _as_table(_as_table(axis).get("values")):
                return axis.get("id")
        return None

    def _target(self, line: _LineToWrite) -> _LinePlace:
        """Find where a line goes: into a new table, below its own header, or into the table of the word."""
        if line.new_table:
            return _LinePlace(line.text, f"in a new [[{line.new_table}]]", [])
        parts = re.fullmatch(r"(?:(\[+)(\w+)\]+ )?(.+)", line.text, re.DOTALL)
        assert parts is not None
        brackets, header, text = parts.groups()
        if text.startswith("["):
            return _LinePlace(text, "here", [])
        if header is None:
            takes_it = self.known is None or next(iter(_parsed(text)), "") in self.known
            header = self.name if takes_it else "harness"
        place, tables = "here", [self.content]
        if header != self.name:
            others = self.document.get(header, {})
            place = f"in each [[{header}]]" if brackets == "[[" else f"in [{header}]"
            tables = [_as_table(other) for other in (others if isinstance(others, list) else [others])]
        field = re.fullmatch(r"loading\.fields\.(.+)", text)
        if field is None:
            return _LinePlace(text, place, tables)
        field_maps = [_as_table(_as_table(table.get("loading")).get("fields")) for table in tables]
        if not all(field_maps):
            return _LinePlace(f"loading.fields = {{ {field[1]} }}", place, tables)
        owner = "" if place == "here" else f" {place.replace('in ', 'of ', 1)}"
        return _LinePlace(field[1], f"in `loading.fields`{owner}", field_maps)


def _as_table(value: object) -> Mapping[str, Any]:
    """Give a value as a table, an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def _enumerated(texts: Sequence[str]) -> str:
    """Join texts: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _grouped(value: object) -> Mapping[str, object]:
    """Read a group of keys, given as a table or as the text "a=1,b=2"."""
    if not isinstance(value, str):
        return _as_table(value)
    pairs = [part.partition("=") for part in value.split(",")]
    return {name.strip(): _command_line_value(text.strip()) for name, equals, text in pairs if equals}


def _command_line_value(text: str) -> object:
    """Read a value of a command line: a number, true or false in any case, or else a text."""
    try:
        return tomllib.loads(f"_ = {text.lower()}")["_"]
    except ValueError:
        return text


def _main_value(value: object) -> object:
    """Take the first entry of a list, and the `metric`, `type` or `name` of a table."""
    if isinstance(value, list) and value:
        return _main_value(value[0])
    if isinstance(value, dict):
        return next((value[key] for key in ("metric", "type", "name") if key in value), "")
    return value


def _filled(line: str, value: object, match: re.Match[str]) -> str:
    """Fill the places of a line ($0, $1, $list, $names) with a value and what its row matched of it."""
    entries = value if isinstance(value, list) else [value]
    names = {f"p{number}": entry for number, entry in enumerate(entries, start=1)}
    groups = {f"${number}": group or ANY_K for number, group in enumerate(match.groups(), start=1)}
    places = {"$list": toml_value(entries), "$names": toml_value(names), "$0": toml_value(value), **groups}
    return re.sub(r"\$(?:list|names|\d)", lambda place: places.get(place[0], place[0]), line)


def _parsed(line: str) -> Mapping[str, Any]:
    """Read the key and value of a line; empty where the line leaves a part to the reader."""
    try:
        return tomllib.loads(line)
    except ValueError:
        return {}
