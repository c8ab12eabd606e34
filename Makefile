# Two commands: `make run` runs this repository's study, `make test` runs every check.
# PYTHON chooses the interpreter (3.11 or newer); the environment lies in .venv.

PYTHON ?= python3
BIN := .venv/bin
# Compiled code is kept: each worker and each process that a test starts would compile all of it again.
export PYTHONDONTWRITEBYTECODE :=
# One thread a library: workers whose libraries take every core wait for one another.
ALONE := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PIP := PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: bench-view bench-api docs gallery judged serve run scaffolds test quick slow slow-part mutants drawn-mutants bench-engine bench-start bench-plan bench-stats bench-report bench-logs bench-leaderboards bench-gate bench-units release clean

run: .venv/installed
	$(BIN)/gridc validate
	$(BIN)/gridc stamp
	$(BIN)/gridc plan
	$(BIN)/gridc run
	$(BIN)/gridc report
	$(BIN)/gridc verify

# Six procedures around three pocket models, and what reached each of their steps.
SCAFFOLDS := specs/scaffold_pocket.toml --out results/scaffold_pocket
scaffolds: .venv/installed
	$(BIN)/gridc plan $(SCAFFOLDS)
	$(BIN)/gridc run $(SCAFFOLDS)
	$(BIN)/gridc scaffolds $(SCAFFOLDS)
	$(BIN)/gridc report $(SCAFFOLDS)

test: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(ALONE) $(BIN)/pytest -n auto --dist worksteal --durations=15

# The tests nearest to what this branch changes, as many as take a minute together.
quick: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/python -m tools.touched | $(ALONE) xargs -r $(BIN)/pytest -n auto --dist worksteal --durations=15

# Tests that take minutes, all of them: hours. Those that need chromium or strace are skipped where there is none.
slow: .venv/installed .venv-lm-eval/installed .venv-graders/installed
	$(ALONE) $(BIN)/pytest -m slow -n auto --dist worksteal --durations=15

# One part of eight of them, without the environments of other packages: `make slow-part PART=3/8 WITHIN=900`.
# What is not done in as many seconds is skipped by name. A test that cannot be ended is killed, and that fails.
slow-part: .venv/installed
	$(ALONE) timeout --kill-after=10 $$(($(WITHIN) + 90)) $(BIN)/pytest -m slow -n auto --dist worksteal \
		--slow-part $(PART) --within $(WITHIN) --durations=15

# The constraints pin every package, those of the build too. torch comes first, from the CPU build.
.venv/installed: constraints.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[local,api,view,langgraph,openai-agents,docs,dev]'
	touch $@

# The wheel, the source archive and the notes of a release, in dist, once both archives were tried in empty environments.
release: .venv/installed
	$(BIN)/python -m tools.release

# The pages of docs/ as a site, results/site/index.html; a warning is an error.
docs: .venv/installed
	$(BIN)/sphinx-build -q -W --keep-going -c tools/site docs results/site

# Real reports with their studies, results/gallery, which `make docs` takes into the site. BOARDS="NAME=FOLDER ..."
# adds the reports of logs, such as those of public leaderboards.
GALLERY := gridcard.toml specs/scaffold_pocket.toml specs/judged_pocket.toml specs/languages.toml specs/cross_package.toml
gallery: run scaffolds judged
	$(BIN)/python -m tools.site.gallery $(GALLERY) $(BOARDS)

# Which changes of gridc/statistics no test in tests/statistics notices. MODULE=pairs takes one module.
mutants: .venv/installed
	$(BIN)/mutmut run $(if $(MODULE),"gridc.statistics.$(MODULE).*")
	$(BIN)/mutmut results

# Changes drawn at random from what is decided and said, and those of them that no test notices.
DECIDED := gridc/reports/quantities gridc/reports/statements gridc/compiler/hypotheses gridc/reports/findings/hypotheses
drawn-mutants: .venv/installed
	$(BIN)/python -m tools.drawn_mutants $(if $(SEED),--seed $(SEED)) $(DECIDED)

# lm-evaluation-harness and gridc beside it, for the tests that they ask and score alike.
.venv-lm-eval/installed: constraints.txt
	$(PYTHON) -m venv .venv-lm-eval
	PIP_CONSTRAINT=constraints.txt .venv-lm-eval/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	PIP_CONSTRAINT=constraints.txt .venv-lm-eval/bin/pip install --quiet --disable-pip-version-check \
		--editable '.[local]' 'lm-eval[hf]==0.4.13'
	touch $@

# Graders of other packages, for the test that functions of the recipes score as they do. Their own packages are as
# they ask for them: gridc's constraints contradict these.
.venv-graders/installed: Makefile
	$(PYTHON) -m venv .venv-graders
	.venv-graders/bin/pip install --quiet --disable-pip-version-check \
		'lm-eval[ifeval]==0.4.13' inspect-ai==0.3.285 inspect-evals==0.26.0
	touch $@

# The local engine beside lm-eval and a plain loop. BENCH passes options.
bench-engine: .venv/installed .venv-lm-eval/installed
	$(BIN)/python -m benchmarks.engine $(BENCH)

# The libraries beside which gridc's statistics are measured, and gridc, in an environment of their own.
.venv-peers/installed: constraints.txt pyproject.toml
	$(PYTHON) -m venv .venv-peers
	PIP_CONSTRAINT=constraints.txt .venv-peers/bin/pip install --quiet --disable-pip-version-check \
		--editable . glum==3.4.1 numba==0.68.1 pandas pyfixest==0.60.0
	touch $@

# Confirmatory statistics beside the fastest ways of other libraries. BENCH passes options.
bench-stats: .venv-peers/installed
	OMP_NUM_THREADS=1 .venv-peers/bin/python -m benchmarks.stats $(BENCH)

# The engine for models behind an address beside a bare httpx loop, and 1,024 calls on a server that fails.
bench-api: .venv/installed
	$(BIN)/python -m benchmarks.api $(BENCH)

# A model that ships with gridc behind the OpenAI protocol, at http://127.0.0.1:8414/v1, under any name.
serve: .venv/installed
	$(BIN)/python -m tools.servers.model $(SERVE)

# The pocket study of the scaffolds with a judge and a second one: two scripts behind addresses judge, then it is checked.
JUDGED := specs/judged_pocket.toml --out results/judged_pocket
judged: .venv/installed
	$(BIN)/python -m tools.servers.judges --port 8415 & first=$$!; \
	$(BIN)/python -m tools.servers.judges --port 8416 --shares '{"other": 0.1, "prose": 0.05}' & second=$$!; \
	trap "kill $$first $$second" EXIT; sleep 2; \
	$(BIN)/gridc run $(JUDGED) && $(BIN)/gridc report $(JUDGED) && $(BIN)/gridc verify $(JUDGED)

# How long `gridc --help` and `gridc validate` take to start, beside Python.
bench-start: .venv/installed
	$(BIN)/python -m benchmarks.start

# How compiling and counting a plan grows, up to 1,000,000 cells.
bench-plan: .venv/installed
	$(BIN)/python -m benchmarks.plan

# What report, verify and the other readers take on a store of 520,380 calls, and the most memory of each.
# ITEMS=2950 makes it ten times as large.
bench-report: .venv/installed
	$(BIN)/python -m benchmarks.report results/bench-report $(ITEMS)

# What certifying logs of 10,000, 100,000 and 1,000,000 samples takes.
bench-logs: .venv/installed
	mkdir -p results/bench-logs
	$(BIN)/python -m benchmarks.logs results/bench-logs

# What certifying leaderboards of 58 and 220 models with their reports takes. GRIDC_REAL takes real scores.
bench-leaderboards: .venv/installed
	mkdir -p results/bench-leaderboards
	$(BIN)/python -m benchmarks.leaderboards results/bench-leaderboards

# How often the gate of `gridc compare` decides falsely, and how often it finds what was planted; also where answers
# are missing or unreadable, and where items come in families.
bench-gate: .venv/installed
	$(BIN)/python -m benchmarks.gate

# How often `gridc certify` tells equal models apart where items come in families, with their units named and not.
bench-units: .venv/installed
	$(BIN)/python -m benchmarks.units

# Pages of `gridc view` on a store of 519,084 samples, beside plain SQL.
bench-view: .venv/installed
	$(BIN)/python -m benchmarks.view results/bench-report $(ITEMS)

clean:
	rm -rf .venv .venv-lm-eval .venv-graders .venv-peers results
