#!/usr/bin/env bash
# The steps of action.yml. SPECS, STAMPED and BASELINE hold one path a line; RUNNER_TEMP, GITHUB_OUTPUT,
# GITHUB_STEP_SUMMARY and GITHUB_ACTION_PATH are the runner's. Nothing from the inputs is ever part of a
# command's text, and nothing from the checkout, the current folder, is ever imported.
set -euo pipefail
unset "${!PYTHON@}" # pip starts Pythons of its own, and a PYTHONPATH may lead them into the checkout
python="${GRIDC_PYTHON:-$RUNNER_TEMP/gridc/bin/python}"
[ -n "${GRIDC_DATA:-}" ] || unset GRIDC_DATA

gridc() {
  "$python" -I -m gridc "$@"
}

lines() { # the lines of $1 that are not empty, into the array `paths`
  paths=()
  while IFS= read -r line; do
    [ -z "$line" ] || paths+=("$line")
  done <<<"$1"
}

# What is printed quotes specs and stores, and the runner would obey a line of theirs that it takes for a
# command: it does so again once it reads a word that nobody can guess. One stream, so that nothing is ahead.
exec 2>&1
word="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
echo "::stop-commands::$word"
trap 'echo "::$word::"' EXIT

case "$1" in
install)
  python -I -m venv -- "$RUNNER_TEMP/gridc"
  pip=("$RUNNER_TEMP/gridc/bin/python" -I -m pip install --quiet)
  "${pip[@]}" --require-hashes --requirement "$GITHUB_ACTION_PATH/tools/action-requirements.txt"
  "${pip[@]}" --no-deps --no-build-isolation -- "$GITHUB_ACTION_PATH"
  ;;
validate)
  lines "$SPECS"
  status=0
  gridc validate --format sarif -- "${paths[@]}" >"$RUNNER_TEMP/gridc.sarif" || status=$?
  echo "sarif=$RUNNER_TEMP/gridc.sarif" >>"$GITHUB_OUTPUT"
  gridc validate -- "${paths[@]}" || true # the same for people who read the log
  exit "$status"
  ;;
stamp)
  lines "$STAMPED"
  status=0
  for path in ${paths[@]+"${paths[@]}"}; do
    gridc stamp --check -- "$path" || status=$?
  done
  exit "$status"
  ;;
compare)
  lines "$BASELINE"
  options=()
  for path in "${paths[@]}"; do
    options+=("--baseline=$path")
  done
  [ -z "${MARGIN:-}" ] || options+=("--margin=$MARGIN")
  [ -z "${POLICY:-}" ] || options+=("--policy=$POLICY")
  folder="$RUNNER_TEMP/gridc-comparison"
  rm -rf -- "$folder"
  status=0
  gridc compare "${options[@]}" --out "$folder" -- "$CANDIDATE" || status=$?
  if [ -f "$folder/compare.md" ]; then
    cat "$folder/compare.md" >>"$GITHUB_STEP_SUMMARY"
    echo "comparison=$folder" >>"$GITHUB_OUTPUT"
    case "$status" in
    0) verdict="GO" ;;
    1) verdict="NO-GO" ;;
    10) verdict="INCONCLUSIVE" ;;
    *) verdict="NOT COMPARABLE" ;;
    esac
    echo "verdict=$verdict" >>"$GITHUB_OUTPUT"
  else # a run that is not there, or cannot be read
    echo "verdict=NOT COMPARABLE" >>"$GITHUB_OUTPUT"
  fi
  exit "$status"
  ;;
esac
