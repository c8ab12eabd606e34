"""What lm-evaluation-harness, Inspect, promptfoo and providers' APIs call things, and what to write instead.

A help that follows from here can be followed to the letter: "write `LINES` PLACE", where a place is here (the
line of the finding), a table of the spec, or a new one. Whatever a word asks for that gridc does not do is
said, and to leave it out.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from gridc.schema.effects import Effects, Method, Precision
from gridc.schema.jsonschema import toml_value

CALLS = r"|harness|level|values|benchmark|model|sampling|study|axis|engine"
"""The tables in which people write what a call should have."""


class ForeignWord(NamedTuple):
    """A word from elsewhere: the `key`, the `value` as TOML writes it (a text without its quotes) and the
    last name of the `table` that it stands in are regular expressions.

    `lines` are written instead, each in the table of calls that it is found in, else in [harness]. One that
    begins with a table's header goes there; with `new` before it, into a table of its own; with `?`, only
    where the table lacks the key. $0 is the value, $1 what its group holds, $list a list of it, $names a
    table that names each. Without lines `why` says all. `like` is the key of the language whose values it
    takes; `beside` fits a key that stands in the same table, or in its `loading.fields`.
    """

    key: str
    lines: tuple[str, ...] = ()
    why: str = ""
    value: str = r".*"
    table: str = CALLS
    like: str = ""
    beside: str = ""


FUNCTION = (r'method = "scorer"', r'scorer = { function = "python:scorers.py:NAME" }')
NO_CODE = (
    "gridc runs no code: Inspect or EvalPlus do, and what came of each sample can be given (docs/plugins.md)"
)
TEXT_ALONE = "leave it out: gridc asks only texts; for pictures and sound use Inspect or VLMEvalKit"
DRAWS = "so many answers to each item, which differ where `temperature` is above 0"
NO_CUT = "leave it out: answers are drawn by `temperature` and `top_p` alone"
OPTIONS = "options|choices|doc_to_choice"
W = ForeignWord

KEYS = (
    # how often and of what
    W(r"(num_?|n_?|k_?)?(few_?)?shots?|num_few_?shot|few_?shot(_k|_num|_examples)?|n_?examples|ice_num",
      ("shots = $0", '?[[benchmark]] exemplars = { pool = "rest", seed = 42 }'),
      "they are drawn from items outside of `sample`", r"\d+|\[[\d, ]+\]"),
    W(r"few_?shot_(random_)?seed", ('[[benchmark]] exemplars = { pool = "rest", seed = $0 }',)),
    W(r"few_?shot_as_multi_?turn", ('exemplars_as = "turns"',), "with chat_template = true"),
    W(r"(few_?shot|training)_split", (), "leave it out: exemplars are drawn from items outside of `sample`"),
    W("limit|max_(samples|examples|instances|eval_instances|items)|(num|n)_(items|examples|"
      "instances)|subsample", ("[[benchmark]] sample = { n = $0, seed = 42 }",),
      "so many items, drawn with a seed", r"[1-9]\d*"),
    W(r"limit|subsample", ("[[benchmark]] sample = { share = $0, seed = 42 }",),
      "so large a part of the items, drawn with a seed", r"0?\.\d+"),
    W(r"n|(num|n)_samples", ("sample = { n = $0, seed = 42 }",), "so many items, drawn with a seed", r"\d+",
      "benchmark"),
    W("n|epochs?|repeats?|repetitions?|trials|runs|replicas|num_return_sequences|num_choices|"
      "best_of|(num|n)_(samples|generations|trials|runs|repeats|repetitions|epochs)", ("replicates = $0",),
      DRAWS, r"\d+|\[[\d, ]+\]"),
    W(r"(random_|numpy_|torch_|sample_)?seeds?", ("[sampling] seed = $0",),
      "it seeds the answers that are sampled; the draw of items has a seed of its own, in `sample`", r"\d+",
      "|harness|level|model|benchmark|study|axis|engine"),
    # decoding
    W(r"top_k", ("temperature = 0.0",), "the likeliest token each time", "1"),
    W("top_k|min_p|top_a|typical_p|(repetition|frequency|presence|length)_penalty|logit_bias|"
      "num_beams|beam_size|no_repeat_ngram_size|early_stopping|mirostat", (), NO_CUT),
    W(r"do_sample|sample", ("temperature = 0.0",), "", "false", "|harness|level|model"),
    W(r"do_sample|sample", ("temperature = 1.0",), "", "true", "|harness|level|model"),
    W("max_(gen_tok(en)?s|new_tokens?|completion_tokens|output_tokens|tokens_to_sample|length|len|"
      "gen_len(gth)?)|max_out_len|num_predict", ("max_tokens = $0",), "", r"\d+|\[[\d, ]+\]"),
    W(r"stop_(sequences?|seqs?|strings?|words?|tokens?)|until|stops|eos(_string)?|end_sequences",
      ("stop = $list",), "they cut what is read of an answer"),
    W(r"stop_token_ids|ignore_eos|eos_token_id", (),
      "leave it out: `stop` lists texts, and a model's own end counts"),
    W(r"logprobs|top_logprobs|echo|stream|cache(_prompt|_requests)?|use_cache", (),
      "leave it out: it is asked for where a method needs it, and every answer is kept"),
    W(r"response_format|response_schema|json_mode|json_schema|guided_\w+", (),
      "leave it out: the words of `prompt` ask for a format, and a function of method `scorer` can "
      "read it"),
    # prompts
    W(r"doc_to_text|query|input|question", ("[[benchmark]] loading.fields.query = $0",),
      "the column of the question", r"[\w. -]+", "|harness|benchmark"),
    W(r"doc_to_text|(prompt|user|question|input|query)(_template|_text|_format)?|template", ("prompt = $0",),
      "", r"(?!\{ |\[[{\"]).*"),
    W(r"prompts", ("prompt = $1",), "", r'\[("[^"\\]*")\]'),
    W(r"prompts",
      ('new [[axis]] id = "prompt"', "new [[axis]] values = { prompt = $names }",
      'new [[axis]] tier = "core"', 'new [[axis]] provenance = "ours"'),
      "each is a configuration of its own", r"\[.+\]"),
    W(r"doc_to_target|target|answers?|label|gold|correct_(answer|option)|answer_(index|idx|key)",
      ('[[benchmark]] loading.fields.gold = "$1"',), "the column that names the right option",
      r"(?:\{\{ *)?([\w. -]+?)(?: *\}\})?", "benchmark", beside=OPTIONS),
    W(r"doc_to_target|target|answers?|label|gold|ideal|expected_output|reference_answer",
      ("[[benchmark]] loading.fields.references = [\"$1\"]",), "the column of the right answer",
      r"(?:\{\{ *)?([\w. -]+?)(?: *\}\})?", "|harness|benchmark"),
    W(r"doc_to_choice|choices", ('[[benchmark]] loading.fields.options = ["$1"]',),
      "the column of the options", r"(?:\{\{ *)?([\w. -]+?)(?: *\}\})?", "|harness|benchmark"),
    W(r"doc_to_choice|choices", ("[[benchmark]] loading.fields.options = $0",), "the columns of the options",
      r"\[.*\]", "|harness|benchmark"),
    W(r"(sys|system)_?(prompt|message|msg|instructions?|content|text)|instructions?|persona",
      ("system = $0",)),
    W(r"description|instruction_prefix", (),
      "leave it out: its words go to the head of `prompt`, or into `system`",
      table=r"|harness|level|benchmark"),
    W(r"(apply|use)_?chat_template|chat", ("chat_template = $0",), "", "true|false"),
    W(r"apply_chat_template|chat_template_name", (),
      "leave it out: a model's chat template comes with its files"),
    W(r"target_delimiter", ("delimiter = $0",)),
    W(r"few_?shot_delimiter", ("separators = { blocks = $0 }",)),
    W(r"shuffle(_choices|_options|_answers)?|randomi[sz]e_(choices|options)",
      ('option_order = "shuffled:42"',), "of the options; the order of items changes nothing", "true"),
    W(r"shuffle(_choices|_options|_answers)?|randomi[sz]e_(choices|options)", ('option_order = "file"',), "",
      "false"),
    W(r"cot|(use_)?chain_of_thought|think_step_by_step|reason_first", ('scaffold = { kind = "cot" }',), "",
      "true"),
    W(r"cot|(use_)?chain_of_thought|think_step_by_step|reason_first", (),
      "leave it out: a call asks for reasoning only where a scaffold or the prompt does", "false"),
    W(r"solvers?|agent|strategy", ('scaffold = { kind = "cot" }',), "", r".*chain_of_thought.*|cot"),
    W(r"solvers?|agent|strategy", ('scaffold = { kind = "critic" }',), "", r".*self_critique.*"),
    W(r"solvers?|agent|strategy", ('scaffold = { kind = "react" }',), "", r".*(react|basic_agent).*"),
    W(r"solvers?|agent|strategy", (),
      "leave it out: a plain call is what is asked; `scaffold` says any other procedure"),
    W(r"reasoning_effort|effort", ("thinking = $0",), "", "minimal|low|medium|high|xhigh|max"),
    W("(max_)?(thinking|reasoning)_(token_)?budget(_tokens)?|budget_tokens|max_(thinking|reasoning)_tokens",
      ("thinking = $0",), "the most tokens of its thought, fewer than `max_tokens`", r"[2-9]|\d{2,}"),
    W(r"(enable_|use_)?(thinking|reasoning)(_mode)?|reasoning_effort", ("thinking = false",), "",
      "false|none|off"),
    W(r"(enable_|use_)?(thinking|reasoning)(_mode)?", ("thinking = true",), "", "true|on"),
    # scores
    W("metrics?(_list)?|scorers?|scoring|scores?_by|grader?s?|assert(ion)?s?|evaluators?|"
      "evaluation|output_type|judge_by", like="method"),
    W(r"aggregation|reducers?|epochs_reducer", (),
      "leave it out: `aggregate` says what becomes of an item's replicates"),
    W(r"filter(s|_list)?|regex_pattern|postprocess\w*|extraction|answer_pattern", (),
      "leave it out: match = { as = ..., after = ... } says where an answer stands, or a function "
      "of method `scorer` reads it"),
    W(r"higher_is_better", ('direction = "higher"',), "", "true", "benchmark"),
    W(r"higher_is_better", ('direction = "lower"',), "", "false", "benchmark"),
    W(r"(pass_)?threshold|passing_score|pass_mark",
      ('[analysis] thresholds = [{ at = $0, declared = "ex_ante", source = "ours" }]',), "",
      r"0?\.\d+|[01](\.0)?"),
    # items
    W(r"(hf_)?(dataset|data|repo)(_path|_repo|_id|_name|_file|_files)?|path|files?(name|_path)?",
      ('source = "path:$1"',), "", r"(?:file:/?/?)?((?!/)[^:]+\.(?:csv|tsv|jsonl?|parquet))", "benchmark"),
    W(r"(hf_)?(dataset|data|repo)(_path|_repo|_id)?|path", (),
      'write its file as the `source`: "hf:$1@REVISION?config=NAME&split=NAME", or "path:FILE" '
      'beside the spec', r"([\w.\-]+/[\w.\-]+)", "benchmark"),
    W(r"dataset_name|config(_name)?|subset|name|(test_|validation_)?split", (),
      "leave it out: the `source` says it, \"hf:OWNER/NAME@REVISION?config=NAME&split=NAME\"",
      table="benchmark"),
    W(r"datasets?|data(_path)?|tasks?(_name)?|evals?|benchmarks", (),
      "leave it out: the table has an `id`, a `loader` and a `source` of its items (`gridc docs "
      "benchmarks`)", r"(?!classify|respond).*", "benchmark"),
    W(r"tasks?|datasets?|data|evals?|benchmarks|suites?", ("[[benchmark]]",), "", r"\[?\{.*", ""),
    W(r"tasks?|datasets?|data|evals?|benchmarks|suites?", (),
      "leave it out: what is asked is a [[benchmark]] with an `id`, a `loader` and a `source` "
      "(`gridc docs benchmarks`)", table="|harness|study"),
    W(r"tests?(_cases)?|cases", (),
      'leave it out: items are rows of a file, asked by a [[benchmark]] with loader = "rows"', table=""),
    # models
    W(r"providers?|llms?|endpoints?|models", ("[[model]]",), "", r"\[?\{.*", ""),
    W(r"providers?|llms?|models?",
      ('new [[model]] id = "$2"', 'new [[model]] engine = "api"', 'new [[model]] source = "$1/$2"'), "",
      r'\[?"?(\w+)[:/](?:chat:|messages:)?([\w.\-]+)"?\]?', "|harness|study"),
    W(r"provider", ('engine = "api"',), "",
      r"openai|anthropic|google|azure|litellm|mistral|groq|together\w*|openrouter|bedrock|vertex\w*",
      "model"),
    W(r"provider|backend|model_type", ('engine = "hf"',), "", r"hf|huggingface|transformers|local", "model"),
    W(r"pretrained|model(_name|_id|_path|_name_or_path)?|hf_(model|repo)|checkpoint|repo(_id)?",
      ('source = "hf:$1"', 'engine = "hf"'), "", r"([\w.\-]+/[\w.\-]+)", "model"),
    W(r"pretrained|hf_(model|repo)", ('source = "hf:$1"', 'engine = "hf"'), "", r"([\w.\-]+)", "model"),
    W(r"model(_name|_id)?|deployment(_name)?", ("?source = $0",), "", r"[\w.\-:/]+", "model"),
    W(r"name", ("?id = $0",), "", r"[A-Za-z0-9][\w.\-]*",
      "model|axis|level|study|slice|hypothesis|fork|curve|family"),
    W(r"label|display_name|description|comment|notes?", ("note = $0",), "", table="model|benchmark"),
    W(r"(torch_)?dtype|precision|quanti[sz](e|ation)(_config)?|weights?_dtype|bits", like="precision",
      table="|harness|level|model"),
    W(r"load_in_4bit", ('precision = "nf4"',), "", "true"),
    W(r"load_in_8bit", ('precision = "int8"',), "", "true"),
    W(r"load_in_[48]bit", (), "leave it out", "false"),
    W(r"api_key|openai_api_key|token|key|secret", (),
      "leave it out: a spec holds no secrets; `key_env` names the environment variable that has "
      "the key, where it is not the provider's usual one", table="model|judge"),
    W(r"(openai_)?(api_base|base_ur[il]|api_url|url|endpoint|host|server_url)(_url)?",
      ('[[model]] engine = "api"', "[[model]] base_url = $0"),
      "the `source` is the name that the server knows the model by", r"https?://.*"),
    # how it is run
    W(r"device(_map)?", ("[engine] device = \"$1\"",), "", r"(cuda|cpu|auto)(:\d+)?",
      "|harness|model|study"),
    W(r"(max_)?batch_size", ("[engine] batch_prompts = $0",), "", r"\d+"),
    W(r"(max_)?batch_size", (), "leave it out: a batch takes as many prompts as fit `kv_mib` of [engine]"),
    W("(max_)?(connections|concurrency|num_concurrent|num_workers|concurrent_requests)|"
      "num_(concurrent|workers)", ("[engine] concurrency = $0",), "", r"\d+"),
    W(r"(max_|num_)?retries", ("[engine] attempts = $0",), "the first one counts", r"\d+"),
    W(r"(request_|api_)?timeout(_s|_seconds)?", ("[engine] timeout_s = $0",), "", r"[\d.]+"),
    W(r"time_limit|working_limit", ("[budget] wall_s = $0",), "of the whole run", r"[\d.]+",
      CALLS + "|budget"),
    W(r"(max_)?(cost|usd|dollars|spend)(_limit)?", ("[budget] usd = $0",), "", r"[\d.]+", CALLS + "|budget"),
    W(r"(max_)?(calls|requests)|limit", ("[budget] calls = $0",), "", r"\d+", "budget"),
    W(r"(max_|total_)?tokens?(_limit)?", ("[budget] tokens = $0",), "", r"\d+", "budget"),
    W("message_limit|token_limit|sandbox|trust_remote_code|verbosity|log_(level|dir|samples)|"
      "output_path|write_out|fail_on_error", (), "leave it out: it has no counterpart here"),
    # tables within
    W(r"model|model_name|name|provider", ("source = $0",), table="judge"),
    W(r"prompt|template|criteria|instructions?|rubric_prompt", ("rubric = $0",), table="judge"),
    W(r"temperature|top_p|(random_)?seed", (), "leave it out: judges are asked at temperature 0",
      table="judge"),
    W(r"(prompt|question|input|text|problem|stem)(_column|_field)?", ("query = $0",), table="fields"),
    W(r"(target|answers?|label|correct|right|answer_(index|idx|key))(_column|_field)?", ("gold = $0",),
      table="fields", beside=OPTIONS),
    W("(target|answers?|label|ideal|references?|solution|output|correct|expected_answer|"
      "right)(_column|_field)?", ("references = $list",), table="fields"),
    W(r"choices?|candidates|alternatives", ("options = $list",), table="fields"),
    W(r"regex|pattern", FUNCTION, "a function says it, and `match` is left out", table="match"),
    W(r"type|kind|method|mode", ("as = $0",), "", "number|text|contains|exact", "match"),
    W(r"ignore_case|case_sensitive|ignore_punctuation|ignore_numbers|strip", (),
      'leave it out: as = "text" ignores case, punctuation and articles, as = "exact" nothing',
      table="match"),
    W(r"tolerance|atol|abs_tol|eps", ("within = $0",), table="match"),
    W(r"prefix|marker|location", ("after = $0",), table="match"),
    W(r"baseline|control_level|compared_to|against|versus", ("reference = $0",), table="hypothesis"),
    W(r"treatment|variant|arm|condition", ("level = $0",), table="hypothesis"),
    W(r"type|test", ("kind = $0",), table="hypothesis"),
    W(r"alternative|direction|tail", ("side = $0",), "", "greater|less|two-sided", "hypothesis"),
    W(r"source", (), "in the axis: levels = { source = ..., id = ..., prompt = ... }", table="level"),
    W(r"models?", (), 'models are levels already, which contrasts name by axis = "model"', table="values"),
    W(r"images?|pictures?|audio|videos?|sound", (), TEXT_ALONE, table=".*"),
)  # fmt: skip
"""Keys that the language does not have. Rows are tried in order, and the first match is used."""

VALUES = (
    W("method", ('method = "scorer"', "scorer = { function = $0 }"), "", r"(python:|plugin:).+|.+\.py.*"),
    W("method", ('method = "text_likelihood"',), "", r"perplexity|ppl|bpb|bits[ _-]per[ _-]byte|nll|loss"),
    W("method", ("aggregate = { pass_at = 5 }",), "beside another method. Of code: " + NO_CODE,
      r"pass[@_ -].*"),
    W("method", (), NO_CODE, r"(code|exec|sandbox|unit_?test|human_?eval).*"),
    W("method", ('method = "match"', 'match = { as = "exact" }'),
      'as = "text" ignores case, punctuation and articles',
      r"(quasi_)?(exact|exact_match|em|equals?|is|strict_match)"),
    W("method", ('method = "match"', 'match = { as = "contains" }'), "",
      r"i?(includes?|contains)|icontains|substring"),
    W("method", ('method = "match"', 'match = { as = "number" }'), "", r"numbers?|numeric|gsm8k|math"),
    W("method", ('method = "match"', 'match = { as = "text" }'), "", r"text|squad|answer|flexible.extract"),
    W("method", FUNCTION, "a function says it",
      r"regex|pattern|rouge.*|comet|similar|levenshtein|is-json|javascript|python"),
    W("method", ('new [[statistic]] id = "$1"',), "beside a `method` that reads single answers",
      r"(f1|bleu|chrf|precision|recall|auroc|brier)"),
    W("kind", ('kind = "calibration_error"',), "", "ece|expected_calibration_error|calibration", "statistic"),
    W("kind", ('kind = "auroc"',), "", "roc_?auc|auc|AUROC", "statistic"),
    W("kind", ('kind = "matthews"',), "", "mcc|matthews_corrcoef|phi", "statistic"),
    W("kind", ('kind = "strength"',), "", "elo|bradley_terry|bt", "statistic"),
    W("kind", ('kind = "win_rate"',), "", "(mean_)?win_?rate", "statistic"),
    W("kind", ('kind = "bleu"',), "", "BLEU|sacrebleu|corpus_bleu", "statistic"),
    W("kind", ('kind = "chrf"',), "", r"chrF(\+\+)?|CHRF|chrf\+\+|chrf2", "statistic"),
    W("kind", ('kind = "pass_at"', "k = $1"), "", r"pass[@_ -]?(?:at|k)?[@_ -]?(\d*)", "statistic"),
    W("kind", ('kind = "pass_all"', "k = $1"), "", r"pass(?:\^|_hat_?|_all_?|_power_?)k?(\d*)", "statistic"),
    W("kind", ('kind = "macro_mean"',), "", "macro|mean|average|macro_avg", "statistic"),
    W("method", ('method = "loglikelihood"', 'normalise = "char"'), "", r"acc_norm|acc_norm_char"),
    W("method", ('method = "loglikelihood"', 'normalise = "byte"'), "", r"acc_bytes|acc_norm_bytes"),
    W("method", ('method = "loglikelihood"',), "`extract` reads the letter of an answer instead",
      r"multiple_choice|mc\d?|acc|log_?probs?|loglikelihood_\w+"),
    W("method", ('method = "extract"',), "`loglikelihood` ranks the options instead",
      r"choices?|accuracy|letter|generate_until|generat\w+"),
    W("method", ('method = "judge"',), "[judge] says who judges, and by what",
      r"(llm|model|gpt|g-eval|factuality).*"),
    W("method", ('method = "judge"',), "`compares` in [judge] says with whom",
      r"pairwise|preference|win_?rate|elo|arena"),
    W("as|match", FUNCTION, "a function says it", r"regex|pattern|f1|bleu|rouge.*|chrf.*"),
    W("match", ('match = { as = "$1" }',), "", r"(exact|contains|number|text)"),
    W("match", ('match = { as = "exact" }',), "", r"exact_match|em|equals?|strict"),
    W("match", ('match = { as = "contains" }',), "", r"includes?|substring"),
    W("scorer", like="method"),
    W("sample", ("sample = { n = $0, seed = 42 }",), "so many items, drawn with a seed", r"[1-9]\d*"),
    W("sample", ("sample = { share = $0, seed = 42 }",), "so large a part of the items", r"0?\.\d+"),
    W("levels", ("[[axis.level]]",), "", r"\[\{.*"),
    W("aggregate", ("aggregate = { pass_at = $1 }",), "", r"pass[@_ -]?(?:at)?[_ -]?(\d*)"),
    W("aggregate", ("aggregate = { pass_at = $1 }",), "", r"(?:any|best)[@_ -]?(?:of)?[_ -]?(\d*)"),
    W("aggregate", ("aggregate = { pass_all = $1 }",), "", r"(?:pass_?all|all|pass\^|min)[@_ -]?(\d*)"),
    W("aggregate", ('aggregate = "majority"',), "", r"maj.*|vote|mode|self.consistency"),
    W("all_of", ('all_of = "family"',), "`loading.fields.family` names its column",
      r"pairs?|group|set|both"),
    W("thinking", ("thinking = true",), "", r"on|yes|enabled"),
    W("thinking", ("thinking = false",), "", r"off|no|disabled"),
    W("thinking", ("thinking = $1",), "the most tokens of its thought: a number has no quotes",
      r"([2-9]|\d{2,})"),
    W("thinking", (), "true, false, an effort, or the most tokens of its thought: a whole number from 2",
      r"-?\d*\.?\d+|\{.*"),
    W("tools", (),
      "`loading.fields.tools` is the column of an item's own tools, which need no name here. Known "
      "here: `calculator`, `text_search`, `scratchpad`"),
    W("precision", ('precision = "fp32"',), "", r"(torch\.)?(float32|float|full|32)"),
    W("precision", ('precision = "fp16"',), "", r"(torch\.)?(float16|half|16)"),
    W("precision", ('precision = "bf16"',), "", r"(torch\.)?bfloat16"),
    W("precision", ('precision = "int8"',), "", r"8|8bit|llm\.int8|bitsandbytes_8bit"),
    W("precision", ('precision = "nf4"',), "", r"4|4bit|int4|bnb|bitsandbytes(_4bit)?"),
    W("precision", ('precision = "as_shipped"',), "", r"auto|gptq|awq|fp8"),
    W("direction", ('direction = "higher"',), "", r"max(imi[sz]e|imum)?|up|true|asc(ending)?"),
    W("direction", ('direction = "lower"',), "", r"min(imi[sz]e|imum)?|down|false|desc(ending)?"),
    W("base_url", ('base_url = "$1/v1"',), "below /v1 most servers answer", r"(https?://[^/]+)/+"),
    W("base_url", ('base_url = "$1"',), "", r"(https?://.*?)/+"),
    W("base_url", ('base_url = "http://$1/v1"',), "below /v1 most servers answer",
      r"((?:localhost|[\d.]+)(?::\d+)?)/?"),
    W("base_url", ('base_url = "http://$1"',), "", r"((?:localhost|[\d.]+)(?::\d+)?/[^/].*?)/*"),
    W("base_url", ('base_url = "https://$1"',), "", r"([\w\-]+(?:\.[\w\-]+)+(?::\d+)?(?:/[^/].*?)?)/*"),
    W("engine", ('engine = "api"', 'server = "$1"'), "its address goes into `base_url`",
      r"(sglang|llama\.cpp)"),
    W("engine", ('engine = "api"',), "its address goes into `base_url`", r"ollama|lmstudio|tgi|server"),
    W("engine", ('engine = "api"',), "",
      r"azure|google|gemini|vertex\w*|mistral|groq|together\w*|openrouter|bedrock"),
    W("loader", ('loader = "rows"',), "`loading.fields` says which column is what",
      r"gsm8k|hellaswag|arc\w*|squad\w*|trivia_?qa|winogrande|piqa|boolq|drop|math\w*|gpqa|hf|"
      r"huggingface|dataset\w*"),
    W("source", (),
      'write `source = "hf:$1@REVISION?config=NAME&split=NAME"` here with those of its page; or "path:FILE"',
      r"(?:hf:)?([\w.\-]+/[\w.\-]+)(?<!\.csv)(?<!\.json)(?<!\.jsonl)(?<!\.parquet)", "benchmark"),
    W(r"\w+", (), "leave it out, and it has its default", r"[-+]?(nan|inf(inity)?)|none|null|n/a"),
)  # fmt: skip
"""Values that a key of the language does not take, in whichever table unless one is said."""

LONGEST = 5000
"""Characters of a key or a value that the rows are held against."""

GROUPS = (
    r"scoring|scorer|metric|gen(eration|erate)?(_?(kwargs|config|params|parameters|args))?|decoding|llm_config"
    r"|(sampling|default)_?(options|params|parameters|args)|(model|extra)_(base_)?(args|kwargs)"
    r"|options|params|parameters|args|config|defaults?|default_?test|task_defaults"
)
"""Keys and tables that hold others of this kind."""


TAKES: Mapping[str, Collection[object]] = {"method": get_args(Method), "precision": get_args(Precision)}
"""The values of the keys that rows are `like`."""


def value_meant(path: Sequence[object], value: object, document: Mapping[str, Any] = {}) -> str | None:
    """Advice for a value that means something in another tool: what to write in gridc instead."""
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    return _Place(path[:-1], document, None).meant(VALUES, key, value)


def key_meant(
    table: Sequence[object], key: str, value: object, document: Mapping[str, Any], known: Collection[str]
) -> str | None:
    """What says here what a key means elsewhere; `known` are the keys of its table."""
    return _Place(table, document, known).meant(KEYS, key, value)


@dataclass(frozen=True)
class _Place:
    """A table of a document and the keys that it takes (None: all that its values speak of)."""

    path: Sequence[object]
    document: Mapping[str, Any]
    known: Collection[str] | None

    @property
    def name(self) -> str:
        return str(next((part for part in reversed(self.path) if isinstance(part, str)), ""))

    @property
    def own(self) -> Mapping[str, Any]:
        """The table, as far as the document has it."""
        here: Any = self.document
        for part in self.path:
            try:
                here = here[part]
            except (LookupError, TypeError):
                return {}
        return _table(here)

    def meant(self, rows: Sequence[ForeignWord], key: str, value: object) -> str | None:
        held = _held(value) if rows is KEYS and re.fullmatch(GROUPS, key, re.IGNORECASE) else {}
        found = {name: self._instead(KEYS, name, inner) for name, inner in held.items()}
        lines = [line for several, _ in found.values() for line in several]
        if lines:
            left = " and ".join(f"`{name}`" for name, (several, _) in found.items() if not several)
            return self._written(lines, left and f"leave out {left}, which nothing here is called", key)
        lines, why = self._instead(rows, key, value)
        return (self._written(lines, why, key) if lines else why) or None

    def _instead(self, rows: Sequence[ForeignWord], key: str, value: object) -> tuple[list[str], str]:
        """The lines that say what a key means, and why."""
        row, stated = self._row(rows, key, value)
        if row is not None and row.like:
            return self._of_key(row.like, _first(value))
        if row is not None and stated is not None:
            return [_filled(line, value, stated) for line in row.lines], _filled(row.why, value, stated)
        tables = isinstance(value, list) and any(isinstance(entry, dict) for entry in value)
        if rows is KEYS and not tables and key in Effects.model_fields and re.fullmatch(CALLS, self.name):
            why = "every model is asked alike" if self.name == "model" else ""
            return [f"{key} = {toml_value(value)}"], why
        return [], ""

    def _row(
        self, rows: Sequence[ForeignWord], key: str, value: object
    ) -> tuple[ForeignWord | None, re.Match[str] | None]:
        """The first row that fits, and how it fits the value."""
        text = (value if isinstance(value, str) else toml_value(value))[:LONGEST]
        fields = _table(_table(self.own.get("loading")).get("fields"))
        for row in rows:
            here = (rows is VALUES and row.table == CALLS) or re.fullmatch(row.table, self.name)
            if row.beside and not any(re.fullmatch(row.beside, name) for name in (*self.own, *fields)):
                continue
            if here and re.fullmatch(row.key, key[:LONGEST], re.IGNORECASE):
                stated = re.fullmatch(row.value, text, re.IGNORECASE | re.DOTALL)
                if stated is not None or row.like:
                    return row, stated
        return None, None

    def _of_key(self, key: str, value: object) -> tuple[list[str], str]:
        """As `_instead`, for a value of gridc's own key `key` that other tools call something else."""
        if value in TAKES[key]:
            return [f"{key} = {toml_value(value)}"], ""
        lines, why = self._instead(VALUES, key, value)
        listed = ", ".join(f"`{name}`" for name in TAKES[key])
        return lines, why or ("" if lines else f"leave it out: `{key}` says it here: {listed}")

    def _written(self, lines: Iterable[str], why: str, key: str) -> str:
        """What to write, and where: lines of one place together."""
        places: dict[str, list[str]] = {}
        replaced: dict[str, list[str]] = {}
        for line in lines:
            text, place, tables = self._target(line.removeprefix("?"))
            name = next(iter(_parsed(text)), "")
            own = place == "here" and self.name in ("level", "values")
            if tables and not own and (axis := self._varied(name)) is not None:
                said = f"the axis `{axis}` sets `{name}` in each of its levels: change it there"
                why = "; ".join(filter(None, [said, why]))
                continue
            there = [table for table in tables if name in table]
            if (
                tables
                and len(there) == len(tables)
                and (line[0] == "?" or all(table[name] == _parsed(text)[name] for table in tables))
            ):
                continue
            places.setdefault(place, []).append(f"`{text}`")
            if there and name != key:
                replaced.setdefault(place, []).append(f"`{name}`")
        texts = [
            f"{_listed(texts)} {place}"
            + (f", in place of the {_listed(replaced[place])} that is there" if place in replaced else "")
            for place, texts in places.items()
        ]  # fmt: skip
        return "; ".join(filter(None, [f"write {', and '.join(texts)}" if texts else "leave it out", why]))

    def _varied(self, key: str) -> object:
        """The axis whose levels all set a key, so that no other table has a say; None where none does."""
        axes = self.document.get("axis")
        for axis in axes if isinstance(axes, list) else ():
            levels = _table(axis).get("level")
            stated = [_table(level).get(key) for level in levels] if isinstance(levels, list) else []
            if stated and not any(value is None or isinstance(value, dict) for value in stated):
                return axis.get("id")
            if key in _table(_table(axis).get("values")):
                return axis.get("id")
        return None

    def _target(self, line: str) -> tuple[str, str, list[Mapping[str, Any]]]:
        """What is written, where, and the tables of the document that it is written into."""
        stated = re.fullmatch(r"(new )?(?:(\[+)(\w+)\]+ )?(.+)", line, re.DOTALL)
        assert stated is not None
        new, brackets, header, text = stated.groups()
        if new:
            return text, f"in a new [[{header}]]", []
        if text.startswith("["):
            return text, "here", []
        if header is None:
            here = self.known is None or next(iter(_parsed(text)), "") in self.known
            header = self.name if here else "harness"
        place, tables = "here", [self.own]
        if header != self.name:
            others = self.document.get(header, {})
            place = f"in each [[{header}]]" if brackets == "[[" else f"in [{header}]"
            tables = [_table(other) for other in (others if isinstance(others, list) else [others])]
        field = re.fullmatch(r"loading\.fields\.(.+)", text)
        if field is None:
            return text, place, tables
        mapped = [_table(_table(table.get("loading")).get("fields")) for table in tables]
        if not all(mapped):
            return f"loading.fields = {{ {field[1]} }}", place, tables
        whose = "" if place == "here" else f" {place.replace('in ', 'of ', 1)}"
        return field[1], f"in `loading.fields`{whose}", mapped


def _table(value: object) -> Mapping[str, Any]:
    """A value as a table; an empty one of what is none."""
    return value if isinstance(value, dict) else {}


def _listed(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _held(value: object) -> Mapping[str, object]:
    """The keys that a value holds, as a table or as the text "a=1,b=2"."""
    if not isinstance(value, str):
        return _table(value)
    pairs = [part.partition("=") for part in value.split(",")]
    return {name.strip(): _read(text.strip()) for name, equals, text in pairs if equals}


def _read(text: str) -> object:
    """A value of a command line: a number or true and false in any case; else a text."""
    try:
        return tomllib.loads(f"_ = {text.lower()}")["_"]
    except ValueError:
        return text


def _first(value: object) -> object:
    """What is named first: of a list its first entry, of a table its `metric`, `type` or `name`."""
    if isinstance(value, list) and value:
        return _first(value[0])
    if isinstance(value, dict):
        return next((value[key] for key in ("metric", "type", "name") if key in value), "")
    return value


def _filled(line: str, value: object, stated: re.Match[str]) -> str:
    """A line with what was stated in its places."""
    several = value if isinstance(value, list) else [value]
    names = {f"p{number}": one for number, one in enumerate(several, start=1)}
    groups = {f"${number}": group or "5" for number, group in enumerate(stated.groups(), start=1)}
    filled = {"$list": toml_value(several), "$names": toml_value(names), "$0": toml_value(value), **groups}
    return re.sub(r"\$(?:list|names|\d)", lambda found: filled.get(found[0], found[0]), line)


def _parsed(line: str) -> Mapping[str, Any]:
    """The key of a line, with its value; nothing of one that leaves some to the reader."""
    try:
        return tomllib.loads(line)
    except ValueError:
        return {}
