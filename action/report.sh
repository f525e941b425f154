# Write the job's summary, the annotations of numbers that changed, the overview and the page.
set -euo pipefail

folder=$RUNNER_TEMP/eyechart
run=$folder/runs/latest

if [[ -e $folder/summary.md ]]; then
  cat "$folder/summary.md" >> "$GITHUB_STEP_SUMMARY"
fi
if [[ -e $folder/verdicts.json ]]; then
  python "$GITHUB_ACTION_PATH/action/annotations.py" "$folder/verdicts.json"
  echo "verdicts=$folder/verdicts.json" >> "$GITHUB_OUTPUT"
fi
if [[ -e $run/records.json ]]; then
  echo "run=$run" >> "$GITHUB_OUTPUT"
  eyechart overview "$run" --out "$folder/overview" > "$folder/overview.log"
  head -c 500000 "$folder/overview/overview.md" >> "$GITHUB_STEP_SUMMARY"
  comparison=() # bash 3.2 of macOS takes an empty list for an unset one
  if [[ -n $BASELINE ]]; then
    comparison=(--baseline "$BASELINE" ${MARGIN:+--margin "$MARGIN"})
  fi
  eyechart page "$run" ${comparison[@]+"${comparison[@]}"} --out "$folder/page"
fi
