"""The catalogue of codes: what each finding means, why gridc cares, and the way out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A catalogue entry: a one-line title and the long form that `gridc explain` prints."""

    title: str
    explanation: str


CODES: dict[str, Code] = {
    # usage
    "GC000": Code(
        "the command cannot do that",
        "The command line names something that does not exist or cannot be combined. The message says "
        "what was asked; `gridc COMMAND --help` lists what can be.",
    ),
    # GC0xx: the text of the spec
    "GC001": Code(
        "the file is not valid TOML",
        "The text cannot be read as TOML 1.0. The column points at the first character that could not be "
        "understood; the mistake is often just before it (an open quote or bracket, a key written twice).",
    ),
    "GC002": Code(
        "the spec cannot be read",
        "There is no readable UTF-8 text file at this path. gridc looks for ./gridcard.toml when it "
        "is given no path, and for gridcard.toml inside when it is given a folder. `gridc init` "
        "writes a first spec.",
    ),
    "GC003": Code(
        "a number cannot be stamped",
        "TOML allows nan, inf and whole numbers of any size. Canonical JSON (RFC 8785), which the "
        "stamp is the digest of, has no nan or inf, and is exact only up to 2^53 - 1. Leave the key "
        "out when there is no limit.",
    ),
    "GC004": Code(
        "text is not in Unicode normal form C",
        "Two texts that look the same but are composed differently would give two stamps. Save the file in "
        "NFC (most editors do), or retype the character.",
    ),
    "GC005": Code(
        "a character that deceives",
        "Control characters drive terminals, and those that set the direction of writing show a text in "
        "another order than it has. A reviewer would read another spec than gridc does. Tabs and line ends "
        "are allowed, and so are right-to-left scripts, which need no such character.",
    ),
    # GC1xx: the shape of the spec
    "GC101": Code(
        "unknown key",
        "The language has no such key here. gridc refuses unknown keys, because otherwise a misspelt "
        "choice would silently not be made.",
    ),
    "GC102": Code(
        "wrong type",
        "The value has another TOML type than the key takes: text where a number belongs, a single "
        "value where a list does. gridc converts nothing, because text and number would then be two "
        "ways to say one thing. Write the value in the type that the message names; an editor with "
        "the schema shows every key's type.",
    ),
    "GC103": Code(
        "a required key is missing",
        "The table lacks a key that the language requires. Each axis level, for example, needs a `tier` "
        "and a `provenance`: an envelope is more than a list only if it says where each choice comes "
        "from.",
    ),
    "GC104": Code(
        "value not allowed",
        "The value is of the right type but outside what the key accepts: a name that is not one of "
        "the choices, a number out of range, an empty list. The help line shows the nearest choice, "
        "or what the key means.",
    ),
    "GC105": Code(
        "keys contradict each other",
        "Each value is allowed alone, but not together: an engine with another engine's source, a "
        "comparison of a level with itself, an axis over what `not_varied` says is held fixed. gridc does "
        "not guess which of the two was meant. Change or leave out one of them.",
    ),
    # GC2xx: names
    "GC201": Code(
        "the same id twice",
        "Ids are how results are traced back to the spec, so each is unique in its kind, and no axis "
        "is called `model`, `benchmark` or `tier`, which every grid has. Rename one of the two.",
    ),
    "GC202": Code(
        "unknown name",
        "A selector or a reference names a model, benchmark, axis, level, tier, family or fork that the "
        "spec does not declare, or a fork `binds` a path the spec does not contain. A name that leads "
        "nowhere would silently select nothing. Correct the name, or declare it.",
    ),
    # GC3xx: meaning
    "GC301": Code(
        "the grid is empty",
        "After the exclusions no configuration is left to run, so the study would measure nothing "
        "here. Narrow the exclusions, or leave out what they exclude altogether.",
    ),
    "GC302": Code(
        "a key has no value",
        "A call needs this key, and neither an axis nor `[harness]`, the benchmark or the model gives "
        "it. gridc has no default where a default would be a choice of the study. An axis gives a key "
        "only if every one of its levels does.",
    ),
    "GC303": Code(
        "two levels are the same",
        "Two levels have the same effects, always or under a level of another axis (for example top_p "
        "under greedy decoding), so they would lower to the same calls and count one choice twice in |C|."
        " Remove one of them, or exclude all but one where they coincide.",
    ),
    "GC304": Code(
        "two axes set the same key",
        "If two axes set one key, a configuration has two values for it and the grid is not a "
        "product. Put all values of a key into the levels of one axis.",
    ),
    "GC305": Code(
        "an exclusion excludes nothing",
        "No configuration matches it, so it says something false about the grid: a name or a level is "
        "wrong, or an earlier edit has made it superfluous. Correct it or remove it.",
    ),
    "GC306": Code(
        "a slice is empty",
        "No planned configuration matches the slice, so there would be nothing to report. Exclusions "
        "apply first: check whether one of them removes what the slice selects.",
    ),
    "GC307": Code(
        "a hypothesis selects nothing",
        "No planned cell tests the hypothesis, or none of the items of its benchmarks is of the kind that"
        " its `outcome` counts, so nothing could support or refute it. Exclusions apply first: check "
        "whether one of them removes what `where` selects.",
    ),
    "GC308": Code(
        "a path leaves the spec's folder",
        "A spec names nothing outside its own folder, so that the folder can be passed on as it is. "
        "Benchmark files elsewhere are `data:` sources, found under --data or GRIDC_DATA.",
    ),
    "GC309": Code(
        "a file is missing",
        "The file is not where the source says. `path:` is relative to the spec, `data:` is looked up under "
        "--data or GRIDC_DATA, `models:` under --models or GRIDC_MODELS, `builtin:` ships with gridc. Where "
        "no such folder is given, what would lie there may be absent until a run.",
    ),
    "GC310": Code(
        "the template cannot be rendered",
        "Templates are Jinja in a sandbox. They may use `question` (the stem with its lettered options), "
        "`stem` and its parts `context` and `query`, `options`, and `answer` (empty for the item that is "
        "asked).",
    ),
    "GC311": Code(
        "not enough items",
        "The benchmark file holds fewer items than the sample, the exemplars or an axis that selects items "
        "need. Exemplars are never test items, nor are those that `disjoint_from` names.",
    ),
    "GC312": Code(
        "the benchmark file is malformed",
        "A row does not have the fields of the loader's format, or its gold answer contradicts the "
        "format's rule. Upstream files have such rows too (questions without a text, options without one); "
        '`loading.malformed = "leave_out"` leaves them out: the lock lists each with the reason, and every '
        "report counts them.",
    ),
    "GC313": Code(
        "the configuration has no meaning",
        "A likelihood ranking is deterministic over its candidates, so sampled decoding does not apply to "
        "it, and replicates of a greedy call would be the same call. Exclude the combination with a reason.",
    ),
    "GC314": Code(
        "the model cannot be used",
        "The folder is not a causal language model that gridc can load: it needs config.json, a "
        "tokenizer.json and weights in safetensors. Pickled weights are refused, because loading them runs "
        "code.",
    ),
    "GC316": Code(
        "the measurand says otherwise",
        "A named measurand is a set of effects. Another value of one of its keys would make another "
        "measurement with the same name, and a framing made for one benchmark's items does not apply to "
        "another's.",
    ),
    "GC317": Code(
        "a waiver waives nothing",
        "No hazard of this code is found where the waiver applies. Take it out: it would hide the hazard if "
        "it came back.",
    ),
    "GC318": Code(
        "the grid is too large",
        "Models x benchmarks x levels of all axes give more cells than gridc lists by default. A grid of "
        "this size is nearly always a mistake, and a spec from a stranger must not keep a machine busy "
        "for hours. Hypotheses that `each` writes out count alike. Remove levels; or, if you mean all of "
        "them, set the environment variable GRIDC_MAX_CELLS.",
    ),
    "GC319": Code(
        "a fork's choice cannot be made",
        "`choice` says what an analysis does at a level of a fork, so that curves run it. A fork that binds "
        "`documented` needs new data, and no analysis gives them. In one specification two forks cannot both "
        "set how unreadable answers are read, or which outcome is analysed.",
    ),
    "GC320": Code(
        "a base extends in a circle, or too deep",
        "A spec with `extends` is the base with the extension written over it. A base that extends what "
        "extends it has no such meaning, and a chain of more than eight files cannot be read by a person. "
        "`gridc validate --expanded` prints a spec with its bases written out, as one file.",
    ),
    "GC322": Code(
        "a parameter of a template has no value",
        "A template prints a name that `vars` gives it in other cells, and nothing sets it in this one. Set "
        "it in every level of the axis, or give it a value in [harness] that axes override.",
    ),
    "GC323": Code(
        "the anchor selects no configuration",
        "The point score of a card is the score under the anchor configuration, so `analysis.anchor` selects "
        "a configuration on every benchmark, of those that all models share after the exclusions.",
    ),
    "GC324": Code(
        "no power can be planned for this hypothesis",
        "`gridc plan --decide` looks for the cheapest design in which hypotheses of the spec can be decided. "
        "A difference, a trend, an interaction or a ranking needs to say how large an effect is to be found "
        "(--effect 5, --effect H1=5, or a margin in the spec); an equivalence and a non-inferiority have a "
        "margin and no effect. Where no test decides, as of a descriptive ranking, no design does.",
    ),
    "GC325": Code(
        "the limit of a design cannot be held",
        "--usd needs a price of every provider's model that is asked (`price` in [[model]], or litellm's "
        "table), and --hours the time of calls, which a store knows once a run has begun. Nothing is "
        "guessed: --tokens limits what is sent and written, and needs neither.",
    ),
    "GC326": Code(
        "a design needs the items",
        "What units of which sizes can show, and what their calls cost, is counted on the items themselves. "
        "Name the folder of the benchmarks with --data.",
    ),
    "GC331": Code(
        "the options cannot stand in this order",
        "`gold_at:D` needs a right option and at least four options in every item that it applies to. "
        "Choose the items with `items = { where = ... }`, exclude the benchmark, or take another order.",
    ),
    "GC332": Code(
        "the items do not have this unit",
        "`unit` names the groups of items that are taken as independent of each other: `item`, `family` "
        "(versions of one scenario), `template` (what families were filled into) or `category`. Every "
        "certificate rests on it. The files must say to which group an item belongs, and a finer group must "
        "not lie in two units. The loader `rows` takes the groups from `fields.family`, `fields.template` "
        "and `fields.category`.",
    ),
    "GC333": Code(
        "the file has no such column",
        "A name of `loading.fields` is in no row of the benchmark's files. The help line names the nearest "
        "column that there is, or the columns. A dot leads into a nested table (`metadata.answer`). A CSV "
        "file's first row has the names of its columns.",
    ),
    "GC334": Code(
        "how the options are named is not clear",
        "The right option may be named by its place counted from 0 (`index`) or from 1 (`one_based`), by its "
        "letter or by its text. gridc finds out which from all rows. Here the rows contradict what "
        "`loading.gold` states, or several ways fit and give other answers, or no way fits all rows. A wrong "
        "choice would score every item against another answer, so the message shows how one row would be "
        "answered: compare it with what you know to be right.",
    ),
    "GC335": Code(
        "a variant does not pair with its benchmark",
        "The items of a variant say the same in other words, and levels of its axis are compared item by "
        "item. So it has an item of the same id, with as many options, for each item that is drawn from the "
        "benchmark. Name the column that holds the id (`loading.fields.id`), and complete the file, or draw "
        "from the items that both have.",
    ),
    "GC336": Code(
        "a variant is asked by no cell",
        "The benchmark names it, and no planned cell has it as its `variant`: a level is missing, or an "
        "exclusion removes it. Add the level, or leave the variant out.",
    ),
    "GC337": Code(
        "no side of the score is the good one",
        "The benchmark's `direction` is a target: the score nearest to it is best, and a higher or a lower "
        'one can be nearer. A pass mark, a test of noninferiority and `unreadable = "worst"` need a side of '
        "the score that is the good one. Leave them out there, or state `direction` as higher or lower.",
    ),
    "GC341": Code(
        "no installed package offers this plug-in",
        "`plugin:NAME` names an entry point of a package that is installed beside gridc, in the group "
        "gridc.loaders, gridc.engines, gridc.scaffolds or gridc.measurands. Install the package that offers "
        "it in the same environment; the lock of a stamped study names the package and its version.",
    ),
    "GC342": Code(
        "a plug-in cannot be used",
        "The package could not be imported, its code failed, two packages offer the same name, or the name "
        "is one of gridc's own. The message holds what the package said. gridc never uses something else in "
        "its place: a study must not be measured by another instrument than the one it names.",
    ),
    "GC343": Code(
        "a scaffold asks for what no call gives",
        "A framework that drives itself asks gridc for each answer. A call of gridc is messages of text in "
        "and one text out, so that every model and engine can answer it, under the sampling that the study "
        "stamps. Tool calls, hand-overs, structured output, pictures, streams, and parameters that the "
        "framework sets by itself are refused, because leaving them out would run another procedure. A "
        "scaffold that makes over a hundred calls for one item needs a cap: `rounds`.",
    ),
    "GC344": Code(
        "a scaffold does not ask the same again",
        "A run is resumed, and a store verified, by running the scaffold again on the stored answers: it "
        "must ask what it asked before. This one asked something else, in the same process or against what "
        "the store holds. It has a clock, chance or a memory of its own, or asks several things at a time "
        "in no fixed order. What was answered is stored, and nothing was answered in another's place.",
    ),
    "GC351": Code(
        "the provider does not take a parameter",
        "A client that drops it would ask something else than the study says, and nobody would notice. "
        "litellm knows without a call what a provider takes. Leave the parameter out of the study, or name "
        "it in the model's `omits`: then it is stamped that this model is asked without it.",
    ),
    "GC352": Code(
        "a key would travel in the open",
        "The address begins with http:// and is not this machine, so everyone on the way could read the key.",
    ),
    "GC353": Code(
        "calls cannot go in batches",
        "`batch = true` sends the calls of a model to its provider's batch endpoint. gridc knows those of "
        "OpenAI and Anthropic, and of a server at `base_url` that serves /files and /batches as OpenAI does; "
        "vLLM, SGLang and llama.cpp serve none. Rankings of given candidates are asked one by one.",
    ),
    "GC354": Code(
        "a provider's address is not known",
        "gridc states the address to which a key goes, so that no variable and no `.env` file can redirect "
        "it. It knows that of the providers which the message lists, whose requests go through its own "
        "client. Any other that speaks OpenAI's protocol is reached with `base_url` and `key_env`.",
    ),
    "GC361": Code(
        "a label and its score do not fit",
        "`scores` maps what a response is read to onto scores from 0 to 1. Every label of a judge, both "
        "behaviours of a keyword rule and every option of every item must earn exactly one score, and each "
        "label that has a score must be one that a response can be read to. Options are named by their "
        "text or by a role (right, unknown, matching); `other` is for the rest. A judge's labels have no "
        "default: what `partial` is worth is a choice of the study.",
    ),
    # GC4xx: the stamp
    "GC401": Code(
        "the spec is not the one that was stamped",
        "The stamp says what was fixed before any data existed. Undo the change; or explain it with "
        "`gridc deviations --write` and a reason, and continue the run; or, before there are data, run "
        "`gridc stamp --supersede`, which keeps the old stamp in the new lock.",
    ),
    "GC402": Code(
        "a deviation explains nothing",
        "Deviations and differences are one to one: each difference between the stamped and the current "
        "study has exactly one entry in the log, and each entry a difference. An entry whose difference was "
        "undone says `resolved = true`.",
    ),
    "GC403": Code(
        "the lock is damaged",
        "gridcard.lock does not hash to the stamp it states, is not a lock at all, or is missing where "
        "one is needed. Restore it from git. `gridc stamp` makes a new one, but a new lock proves nothing"
        " about the time before it.",
    ),
    "GC404": Code(
        "the lock has another format",
        "The lock was written by another version of the language. Use that version of gridc, or stamp again.",
    ),
    "GC405": Code(
        "an input is not the one that was stamped",
        "A file that the study depends on (an item, a template, a model file) has changed since the "
        "stamp, so the same spec would now measure something else. Restore the file, or run `gridc "
        "stamp --supersede`.",
    ),
    "GC406": Code(
        "an anchor does not fit the lock",
        "A signature, a time stamp token, a DOI or a registry's record was given, but it was not made for"
        " the lock, or for the record of results, as it is now. It may belong to an earlier one: sign or "
        "time-stamp again, or remove the file.",
    ),
    "GC407": Code(
        "a deviation has no reason",
        "gridc computes what differs, but only a person can say why, and a deviation without a reason "
        "explains nothing. Write it into the entry's `reason`.",
    ),
    "GC408": Code(
        "a deviation states other values",
        "The log states registered or implemented values that are not those of the difference. `gridc "
        "deviations --write` fills in both values and leaves the rest as it is.",
    ),
    "GC409": Code(
        "gridc behaves otherwise than when the study was stamped",
        "The stamp holds a fingerprint of each part of gridc that decides the study's prompts and scores: "
        "what it does with fixed inputs and replies. This gridc does something else there, so the same spec "
        "would now measure something else. Use the version of gridc that the lock names; or explain the "
        "difference with `gridc deviations --write`; or, before there are data, run `gridc stamp "
        "--supersede`.",
    ),
    # GC5xx: hazards
    "GC501": Code(
        "a letter is asked for but no options are shown",
        "The answer is read as a letter, yet the prompt does not show lettered options, so a model can only "
        "guess what the letters stand for.",
    ),
    "GC502": Code(
        "exemplars would show no answer",
        "The template never prints `answer`, so a few-shot prompt would be a list of unanswered questions.",
    ),
    "GC503": Code(
        "the prompt does not fit the model's context",
        "gridc never cuts a question, because a model that is asked half of it is measured on something "
        "else. Use fewer shots or shorter prompts, or leave the model out. What a scaffold or a judge asks "
        "later depends on answers: such a call fails by itself, and its sample stays counted.",
    ),
    "GC504": Code(
        "the prompt would start with two BOS tokens",
        "The chat template prints a BOS token and the tokenizer would add another one, which few "
        "models have seen in training. Use a copy of the model whose tokenizer adds none or whose "
        "template prints none.",
    ),
    "GC505": Code(
        "the chat template cannot be used",
        "The model has none, or it refuses the messages, or it does what no template for a chat needs: a "
        "text without end, a loop without end, chance. A base model takes plain text: set "
        "`chat_template = false` for it. Asking it through another model's template would be another "
        "measurement.",
    ),
    "GC506": Code(
        "the prompt would depend on the date",
        "The chat template prints the current date, so the same study would ask something else tomorrow, "
        "and a run that is resumed another day would mix both. Use a copy of the model whose template has"
        " a fixed date.",
    ),
    "GC507": Code(
        "the model is a floating alias",
        "A provider may change what an undated name means at any time, even during a run, so the same "
        "model cannot be asked again. Name a dated snapshot. If there is none, waive this with a reason; for "
        "a server of your own the reason is which weights it serves.",
    ),
    "GC508": Code(
        "a stop string cuts the answer off",
        "Only the text before the first stop string is read, and this stop string is part of an answer.",
    ),
    "GC509": Code(
        "an exemplar is a test item",
        "An item is shown with its answer and then asked: under another id, or because the file has it "
        "twice.",
    ),
    "GC510": Code(
        "the prompt would start without its BOS token",
        "The tokenizer puts a BOS token before plain text, and the prompt has none, because the chat "
        "template does not print it or the tokenizer does not add it. The model was not trained on such "
        "text.",
    ),
    "GC511": Code(
        "a perfect answer does not score 1",
        "A synthetic responder that knows every right answer, and sees what a model would see, does not get "
        "every point. Options that never reach the prompt, letters that stand for another text, an inverted "
        "sign and an extractor that misreads do this.",
    ),
    "GC512": Code(
        "a candidate has no token of its own",
        "All of a candidate's tokens are merged into the prompt's, so there is no token whose likelihood "
        'could be taken. Use `seam = "shared_prefix"` or another delimiter.',
    ),
    "GC513": Code(
        "a text without an answer is read as an answer",
        'An empty response, a refusal to answer and "neither" must be unreadable. Here one is taken for '
        "an option, so a model that says nothing would earn or lose points.",
    ),
    "GC514": Code(
        "one letter is the answer far too often, or too rarely",
        "Always giving one letter scores far more or far less than chance allows (less than one in a "
        "million). The right options are not spread over the letters, as in files that list the right one"
        " first: set the order of the options.",
    ),
    "GC515": Code(
        "an answer after its reasoning is misread",
        "A synthetic responder reasons at length, mentions a wrong option, and ends with the right one, "
        "after a marker or alone on the last line. Another calls one option wrong and gives the right "
        "one. What they say must score 1 under a rule that reads the last answer.",
    ),
    "GC516": Code(
        "a tie earns points",
        "A ranking that finds all candidates equally likely scores above chance, because the tie rule takes "
        "the option that the file lists first, and that is the right one. A model that returns constants "
        "would look perfect.",
    ),
    "GC517": Code(
        "a wrong answer scores",
        "A synthetic responder that always gives a wrong answer earns points: the sign is inverted, or "
        "options are mistaken for each other.",
    ),
    "GC518": Code(
        "a likelihood is taken inside a chat turn",
        "With a chat template, a candidate is the assistant's reply. With a space before it, or with a "
        "sentence that is not a reply, the likelihood is that of a text which no chat contains. Versions "
        "of packages differ in exactly this.",
    ),
    "GC519": Code(
        "a placeholder is left in the prompt",
        "The template has a placeholder in single braces, which Jinja does not fill in: the model would be "
        "asked the literal text.",
    ),
    "GC520": Code(
        "refusals are scored by keywords alone",
        "Keyword lists agree poorly with judges (kappa .30 in Safety Under Scaffolding). As the only "
        "score of a benchmark they need a waiver with a reason.",
    ),
    "GC521": Code(
        "nothing could support the hypothesis",
        "Even the clearest outcome that these items allow leaves the hypothesis open or counts against "
        "it: the items are too few for the margin or the level, the levels it compares are never run "
        "together, or it predicts no difference without a margin below which a difference counts as none."
        ' A waiver names the hypothesis: `where = { hypothesis = "H1" }`.',
    ),
    "GC522": Code(
        "nothing could refute the hypothesis",
        "No outcome of these items counts against it. A two-sided difference without a margin can only be"
        " supported or left open: a small difference is always possible. Give it a margin or a side, and "
        "enough items. An interaction has neither; predict the differences that make it up, or waive it "
        'with a reason and `where = { hypothesis = "H1" }`.',
    ),
    "GC523": Code(
        "a letter is asked for where none is shown",
        "The template or the system prompt asks for a letter, and the options stand behind numbers or "
        "bullets. A model that does as it is told cannot be read. Say in the template what is to be "
        "answered, or let the axis that sets `enumerator` set a part or a parameter of the prompt too.",
    ),
    "GC524": Code(
        "the question asks for options that are not shown",
        'A question such as "Which of the following is a metal?" has no answer where its options are not '
        'shown (`options = "none"`): what the model says is scored against a list that it never saw. In a '
        "sample of MMLU almost a third of the questions are of this kind. Show the options; or give these "
        "items a question of their own without options; or ask other items open-ended.",
    ),
    "GC525": Code(
        "a judge assesses its own answers",
        "A model that judges is also one of those that are compared, and models rate what they said "
        "themselves higher (Panickssery et al. 2024). Choose a judge that is no candidate, or waive this "
        "with a reason. A second judge may be a candidate: its own responses are not handed to it.",
    ),
    "GC529": Code(
        "a server ignores the temperature",
        "It takes the parameter without an error and answers alike whatever the seed, so the replicates of "
        "an item would be one answer counted several times. `transformers serve` does so for models whose "
        "own generation config does not sample. Set the sampling where the server starts, or ask greedily.",
    ),
    "GC530": Code(
        "plain prompts would end on the end token",
        "The tokenizer puts its end-of-text token behind every text, so a prompt would say that the text is "
        "over before the model answers, and every likelihood would be of a candidate with that token behind "
        "it. Use a copy of the model whose tokenizer adds none, or ask through the chat template.",
    ),
    "GC534": Code(
        "a unit is finer than the data document",
        "Items that were made together, such as the fillings of one question template, are taken as "
        "independent of each other: intervals are then too narrow, and tests find what is not there (with 25 "
        "templates and a correlation of .02 within them .12 of studies of 800 items certify falsely). Leave "
        "`unit` out, so that it is the coarsest level that the data document; or waive this with the reason, "
        "which is printed with the results.",
    ),
    "GC535": Code(
        "the bootstrap draws less than a unit",
        "`[analysis] bootstrap` resamples groups finer than the benchmark's unit, so intervals are of "
        "draws that are not independent, and too narrow. Leave its `unit` out, or name the benchmark's; or "
        "waive this with a reason, as where a paper's intervals are reproduced.",
    ),
    # GC6xx: the run
    "GC601": Code(
        "the store is in use",
        "Another gridc process is writing to this store. Two writers could execute a call twice and "
        "disagree about its answer. Wait for it to end, or stop it: what it finished is kept.",
    ),
    "GC603": Code(
        "the run is incomplete",
        "Some calls have no answer yet, or the store holds no run of this study. What is finished is "
        "kept; run `gridc run` to resume.",
    ),
    "GC604": Code(
        "an optional package is not installed",
        "gridc installs by itself only what every study needs. Local models need torch and transformers "
        "(`pip install 'gridc[local]'`), tables pyarrow (`'gridc[tables]'`), model cards huggingface_hub "
        "(`'gridc[hub]'`), PDF figures vl-convert-python (`'gridc[pdf]'`), axis attribution lightgbm "
        "(`'gridc[explain]'`), a Ray cluster ray (`'gridc[ray]'`).",
    ),
    "GC605": Code(
        "the store cannot be used",
        "The file is not a gridc store, there is none yet, or SQLite reports damage. gridc never repairs "
        "a store silently: restore a copy, or run the study again into a new folder with --out.",
    ),
    "GC606": Code(
        "a model could not be loaded",
        "transformers refused the model; its own message follows. Most often a file of the model is "
        "missing or damaged, or it needs a newer version of transformers. Not every architecture runs in "
        "int8 or nf4: bf16 is another measurement.",
    ),
    "GC607": Code(
        "a file cannot be written or read",
        "The operating system refused: the disk may be full, or the folder may not be writable. What was "
        "stored before is intact; run `gridc run` to resume.",
    ),
    "GC608": Code(
        "the model does not fit the memory",
        "A batch needed more memory than there is: lower `kv_mib` in [engine]. Or one call alone needs "
        "more keys and values than `kv_mib` allows: raise it. Neither changes a result. Loading the model"
        " at a lower precision would be another measurement.",
    ),
    "GC610": Code(
        "the model card cannot be changed",
        "gridc writes only between its own markers and adds results to a `model-index`. It refuses a file "
        "that is not UTF-8, whose markers do not enclose one section, or whose `model-index` it could not "
        "add to without touching what others wrote.",
    ),
    "GC611": Code(
        "the budget is reached",
        "The next batch of calls would exceed a cap of [budget], so the run stopped before it. What was "
        "answered is stored; raise the cap and run `gridc run` to resume. A run that stops among its calls "
        "records it as an observed deviation.",
    ),
    "GC612": Code(
        "the store is of a newer gridc",
        "Its tables hold things that this version does not know, so gridc neither reads nor writes it: a "
        "number read from a table that is only half understood would be wrong. Upgrade gridc. Stores of "
        "older versions are read, and brought up to date when something is written to them.",
    ),
    "GC614": Code(
        "a sealed map does not fit",
        "Before the first judgement the map from UUIDs to responses was sealed in the event chain. The "
        "responses are not those any more, or the map's secret was changed, so judging cannot go on under "
        "that seal. Restore a copy of the store, or run the study again in a new one.",
    ),
    "GC615": Code(
        "the viewer has no such page",
        "The address names a study, a cell, an item, a filter or a page that is not in the store. Addresses "
        "hold the stamp of the study as it was run, so a link of another study or of an older run leads "
        "nowhere. Begin at the start page.",
    ),
    "GC616": Code(
        "the viewer cannot listen",
        "`gridc view` listens on 127.0.0.1 alone, at port 8417 unless --port says another. Another program, "
        "or another `gridc view`, has that port, or the system does not give it to this user.",
    ),
    "GC617": Code(
        "a race cannot wait for judges",
        "`gridc certify --until-decided` asks a few items at a time and scores them at once. Judges see no "
        "response before all of the study are there, because their order and the map of who said what are "
        "sealed before the first judgement.",
    ),
    "GC618": Code(
        "two stores disagree",
        "Both have an answer to the same call, and the answers differ. Shards do not overlap, so one of "
        "them was run with other settings, versions or hardware. Merge only one of the two.",
    ),
    "GC619": Code(
        "the files of a model take more than they may",
        "Tokenizers and configurations are read in a process of their own, which may take 60 seconds of CPU "
        "time, more for long texts, and 4 GiB of memory, and ends without harm. Sound files take a twentieth "
        "of that, on a loaded machine too, because only CPU time counts. Take these files as hostile or "
        "damaged: fetch the model anew from its source.",
    ),
    "GC620": Code(
        "there is too little memory",
        "The system gave no more memory to this process. What was stored before is intact; run `gridc run` "
        "to resume where there is more. gridc by itself needs about 1 GiB of address space, local models "
        "2 GiB and their weights.",
    ),
    "GC621": Code(
        "gridc made a mistake",
        "Something happened that gridc does not foresee, so what was asked for is not finished. That is a "
        "mistake of gridc or of a library, not of the study; what was stored before is intact. Run the "
        "command again with GRIDC_TRACEBACK=1 and report what it prints. SECURITY.md says how, where a file "
        "causes it on purpose.",
    ),
    "GC641": Code(
        "a model gives no numbers",
        "Its logits are NaN or infinite, so there is no most likely token and no likelihood to store. "
        "Most often the weights are damaged, or activations overflow in fp16: try bf16 or fp32, which is "
        "another measurement.",
    ),
    "GC642": Code(
        "a file of a model is not the one that was hashed",
        "The file was changed or replaced between compiling the study and loading the model. Nothing of "
        "it was run. Compile the study again with the intended files.",
    ),
    "GC631": Code(
        "a key is missing",
        "A provider's model needs a key, which gridc reads from the environment and writes nowhere. The "
        "message names the variable; `key_env` of a model names another one.",
    ),
    "GC632": Code(
        "a key is refused",
        "The provider does not accept the key, or its account has nothing left to spend. Nothing more was "
        "asked; what was answered is stored.",
    ),
    "GC633": Code(
        "a host cannot be reached",
        "There is no such host, nothing listens there, or its certificate is not trusted. Nothing more was "
        "asked; what was answered is stored, and `gridc run` resumes.",
    ),
    "GC634": Code(
        "the endpoint has no such model",
        "It answers, and knows neither the model nor, perhaps, the path. The name goes to a server as "
        "`source` has it.",
    ),
    "GC635": Code(
        "an endpoint does not answer",
        "A call was asked as often as `attempts` in [engine] allows, with growing pauses, and meanwhile no "
        "other call was answered either, nor another one that was asked again to see: the endpoint is down, "
        "or refuses everything. No call was given up; what was answered is stored, and `gridc run` resumes. "
        "A call that fails while others are answered has failed for good, and stays in the denominator. An "
        "endpoint that refuses what is sent (HTTP 400) says why in the message: leave that out of the study, "
        "or name it in `omits`.",
    ),
    "GC636": Code(
        "an endpoint does not score given candidates",
        "The likelihood of a given text needs the log-probability of each of its tokens. Providers return "
        "those of generated tokens at most. A server at `base_url` may return them for plain text "
        "(`/completions` with echo and logprobs), which gridc tries before it believes it.",
    ),
    "GC637": Code(
        "a budget in money needs prices",
        "[budget] usd can only stop a run in time where every token has a price. State `price` for the "
        "model: litellm's table has none.",
    ),
    "GC638": Code(
        "a batch may have been paid and cannot be found",
        "It was about to be submitted when the connection broke or the process ended, and the provider "
        "does not list it; or it was submitted, and the provider does not have its results, perhaps because "
        "it keeps them for weeks only, or because the key is another account's. It may have been accepted, "
        "so gridc does not ask its calls again by itself. Look "
        "at the provider's own page. `gridc run --acknowledge lost-batches` asks them again; those of the "
        "lost batch count as possibly paid, at their most.",
    ),
    "GC639": Code(
        "batches wait at a provider",
        "They are submitted, and what they are called is stored. Run the same command to take their results: "
        "nothing is asked or paid twice. Providers answer within a day, and keep results for weeks.",
    ),
    "GC640": Code(
        "a provider did not carry out a batch",
        "It refused the batch as a whole, or someone cancelled it there. What it answered before is stored; "
        "calls without an answer were not paid. The message holds what the provider said. `gridc run` "
        "submits what is missing again.",
    ),
    "GC643": Code(
        "nobody has consented to what would leave",
        "A spec names the server that gets the prompts, and the environment variable whose value goes along "
        "as a key. A stranger's spec could so send any secret and any of your files to anyone. Each host "
        "with its variable is allowed once, by you: `gridc run` asks on a terminal and keeps the answer in "
        "your configuration folder, and elsewhere `--allow HOST:VARIABLE` or GRIDC_ALLOW says it. A server "
        "on this machine that gets no key needs no consent.",
    ),
    "GC644": Code(
        "the file of consents cannot be used",
        "gridc keeps what you have allowed in gridc/consent.json in your configuration folder "
        "(XDG_CONFIG_HOME, or ~/.config). It must be a regular file of yours that nobody else may write, "
        "because who writes it decides where your keys go.",
    ),
    "GC645": Code(
        "a request would have gone elsewhere",
        "Something made a request for another address than the one that was consented to: a variable or a "
        "file that a library reads, or an address in a response. It did not leave. To use another server, "
        "state it as `base_url`.",
    ),
    "GC646": Code(
        "an endpoint asks to wait too long",
        "It said with Retry-After to wait, and an hour would pass without an answer, or a minute before the "
        "first call. What was answered is stored, and `gridc run` resumes.",
    ),
    "GC647": Code(
        "an answer is far longer than it may be",
        "It has more than 256 characters for each token of `max_tokens`, which no tokenizer gives: the "
        "server does not keep to the limit, or answers something else. It is a failure, and not scored.",
    ),
    "GC648": Code(
        "a proxy or a file of certificates cannot be used",
        "HTTP_PROXY or HTTPS_PROXY names a proxy of a kind that is not known here, or SSL_CERT_FILE or "
        "SSL_CERT_DIR what cannot be read. Nothing was asked.",
    ),
    "GC650": Code(
        "a Ray cluster cannot be used",
        "gridc starts a cluster on this machine, or joins the one that --address names. Nothing listens "
        "there, the token (RAY_AUTH_TOKEN, or the file RAY_AUTH_TOKEN_PATH) is not the cluster's, it has "
        "other versions of Ray or Python, or no room for the workers. gridc never turns tokens off.",
    ),
    "GC651": Code(
        "a worker failed",
        "A process on the Ray cluster ended with an error, or three of them died on the same batch: most "
        "often the machine had no memory left. Lower `kv_mib` in [engine], or start fewer workers on a "
        "machine. What was answered is stored; run the same command to resume.",
    ),
    "GC652": Code(
        "answers come from environments that differ",
        "Versions, threads, instruction set, device or precision of two machines are not the same, so they "
        "may answer the same call differently, and a difference between cells may be one between machines. "
        "Use equal machines, or pass `--acknowledge environments`: the difference is then recorded as an "
        "observed deviation, and stands on the card.",
    ),
    "GC660": Code(
        "no sheet can be drawn",
        "An audit draws from all responses of a finished study, so that each could have been drawn, and only "
        "texts can be labelled by people. Finish the run with `gridc run`; a study that only ranks "
        "candidates has nothing to read.",
    ),
    "GC661": Code(
        "a file of labels cannot be read",
        "`gridc audit read` takes the CSV that `gridc audit sample` wrote, with its last column filled in, "
        "or the file that the page saves: UTF-8, with columns `uuid` and `label` at least. Save it so.",
    ),
    "GC662": Code(
        "a label is of no response that was drawn",
        "The UUID is on no sheet of this study, or on another one than the rest of the file. Take back one "
        "sheet at a time, in the form in which it was handed out.",
    ),
    "GC663": Code(
        "a label is missing, or is none that can be given",
        "An audit of the easy responses alone would flatter the judge, so every response on the sheet needs "
        "a label, one of those beside it. `unreadable` is a response that says none of the others.",
    ),
    "GC664": Code(
        "a text on the sheet was edited",
        "A label is of the text that was drawn. The question or the response in the file is another one: it "
        "was edited, or a spreadsheet cut it. Copy the labels into a new copy of the sheet, or use the page.",
    ),
    "GC665": Code(
        "a response is labelled twice",
        "Either it stands twice in the file, or the labels of its sheet were taken back before: then its map "
        "is open, and whoever labels it now could know the condition. Draw another sheet.",
    ),
    "GC666": Code(
        "a model card shows another card",
        "A GRID card counts as attached where readers see it: once, at the top level of the page as it is "
        "rendered, inside no other element, list, comment or code, and as `gridc card attach` wrote it. "
        "Close what is left open above it. Nothing else in the file, shown or hidden, may be called a GRID "
        "card or name the study's digests, because a reader could take it for the card: use other words.",
    ),
    # GC7xx: verification
    "GC701": Code(
        "an input differs",
        "The file does not hash to what the lock records, so the numbers were measured on other inputs "
        "than the present ones. Restore the file that the message names.",
    ),
    "GC702": Code(
        "the event chain is broken",
        "An event does not hash to the value its successor records: the store's history was edited or "
        "damaged after it was written. Nothing that the chain dates can be relied on; restore a copy "
        "of the store.",
    ),
    "GC703": Code(
        "a call differs",
        "A stored request or response does not hash to what was recorded with it: it was edited or "
        "damaged after the run. Restore a copy of the store, or run the study again.",
    ),
    "GC704": Code(
        "the plan differs",
        "The store does not hold exactly the samples that the spec lowers to: some are missing, or "
        "some belong to no cell. Run `gridc run` with the stamped spec, or restore the store.",
    ),
    "GC705": Code(
        "a score differs",
        "Scoring the stored response again gives another result, though scoring is a pure function of "
        "it. The score was edited, or the response was, or another version of gridc scored it.",
    ),
    "GC706": Code(
        "the results digest differs",
        "The stored samples, or the rows of a table, do not hash to the digest that the run recorded at its "
        "end: something was changed afterwards. Restore a copy of the store, or run the study again.",
    ),
    "GC707": Code(
        "a report differs",
        "The file does not say what the store says now: it was edited, or it was written at an earlier "
        "state. `gridc report` writes it again.",
    ),
    "GC708": Code(
        "a repeated call has another answer",
        "The call was made again, with the model that is here and in fp32, and the answer is not the "
        "stored one: a text, its end or a ranking differs although no near tie could turn it, a "
        "log-likelihood moved by more than the noise measured here allows, or near ties are counted that "
        "are none. Either the stored answers are not this model's, or "
        "another version of torch or transformers computes them differently; the report's environment "
        "says which versions ran.",
    ),
    "GC709": Code(
        "a tie to a time or a person is not shown",
        "A report says that the lock or the results are signed, time-stamped or registered, but the "
        "evidence is missing or is of something else, or none of it is by those whom `--signer` and "
        "`--roots` name. gridc never believes what a file says about evidence: put the evidence back, or "
        "write the report again.",
    ),
    "GC710": Code(
        "a judge was asked outside of seal and lock",
        "Judges are asked after the map from UUIDs to responses is sealed in the event chain and before the "
        "labels are locked. A reply dated before could have chosen the map, one dated after could know the "
        "scores. A clock that was set back during the run does the same: the event chain shows that.",
    ),
    "GC711": Code(
        "the map does not open the seal",
        "Making the map again from its secret gives other UUIDs, places, texts or another order than were "
        "sealed before the first label: the secret, the responses or the seal were changed afterwards. "
        "Restore a copy of the store.",
    ),
    "GC712": Code(
        "the labels are not the locked ones",
        "The labels of judges or people do not hash to what the event `lock` recorded before the map was "
        "opened: some were changed, exchanged or added when the conditions could be known. Restore a copy of "
        "the store.",
    ),
    "GC713": Code(
        "a map was opened out of turn",
        "A map is sealed before the first label and opened after the last one is locked: events seal, lock, "
        "unblind, each once and in this order. Another order means that somebody knew the conditions while "
        "labels could still change.",
    ),
    "GC714": Code(
        "a figure differs",
        "The file in the folder of figures is not what the store gives now: it was edited, or drawn at an "
        "earlier state. `gridc report --figures` draws it again.",
    ),
}
