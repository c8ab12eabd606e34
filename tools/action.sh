#!/usr/bin/env bash
# The steps of action.yml. SPECS, STAMPED and BASELINE hold one path a line; RUNNER_TEMP, GITHUB_OUTPUT and
# GITHUB_STEP_SUMMARY are the runner's. Nothing from the inputs is ever part of a command's text.
set -euo pipefail
gridc="${GRIDC:-$RUNNER_TEMP/gridc/bin/gridc}"
[ -n "${GRIDC_DATA:-}" ] || unset GRIDC_DATA

lines() { # the lines of $1 that are not empty, into the array `paths`
  paths=()
  while IFS= read -r line; do
    [ -z "$line" ] || paths+=("$line")
  done <<<"$1"
}

case "$1" in
validate)
  lines "$SPECS"
  status=0
  "$gridc" validate --format sarif -- "${paths[@]}" >"$RUNNER_TEMP/gridc.sarif" || status=$?
  echo "sarif=$RUNNER_TEMP/gridc.sarif" >>"$GITHUB_OUTPUT"
  "$gridc" validate -- "${paths[@]}" || true # the same for people who read the log
  exit "$status"
  ;;
stamp)
  lines "$STAMPED"
  status=0
  for path in ${paths[@]+"${paths[@]}"}; do
    "$gridc" stamp --check -- "$path" || status=$?
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
  "$gridc" compare "${options[@]}" --out "$folder" -- "$CANDIDATE" || status=$?
  if [ -f "$folder/compare.md" ]; then # without a verdict there is none
    cat "$folder/compare.md" >>"$GITHUB_STEP_SUMMARY"
    echo "comparison=$folder" >>"$GITHUB_OUTPUT"
    case "$status" in
    0) verdict="GO" ;;
    1) verdict="NO-GO" ;;
    10) verdict="INCONCLUSIVE" ;;
    *) verdict="NOT COMPARABLE" ;;
    esac
    echo "verdict=$verdict" >>"$GITHUB_OUTPUT"
  fi
  exit "$status"
  ;;
esac
