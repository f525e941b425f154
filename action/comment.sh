# Write the summary as a comment of the pull request, or update the comment of an earlier run.
set -euo pipefail

python "$GITHUB_ACTION_PATH/action/comment.py" "$RUNNER_TEMP/eyechart/summary.md"
