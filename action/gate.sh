# Evaluate the models and compare them with the baseline. The step passes: its output `status` is that of the
# evaluation, with which the last step of the action ends, after the reports.
set -euo pipefail

folder=$RUNNER_TEMP/eyechart
rm -rf "$folder"
mkdir -p "$folder"

arguments=(--eye-strict "--eye-out=$folder/runs" "--eye-summary=$folder/summary.md")
arguments+=("--eye-verdicts=$folder/verdicts.json" "--junitxml=$folder/junit.xml")
add() { # OPTION VALUES: the option with each line of the values that is not empty
  while IFS= read -r line; do
    line=${line%$'\r'}
    if [[ $line == *[![:space:]]* ]]; then
      arguments+=("$1$line")
    fi
  done <<< "$2"
}
add --eye-model= "$MODEL"
add --eye-data= "$DATA"
add -k "$KEYWORD"
add --eye-baseline= "$BASELINE"
add --eye-margin= "$MARGIN"
add "" "$OPTIONS"

status=0
eyechart run "${arguments[@]}" || status=$?
echo "status=$status" >> "$GITHUB_OUTPUT"
