# Install eyechart with EXTRAS from the checkout of the action.
set -euo pipefail

pip install "$GITHUB_ACTION_PATH${EXTRAS:+[$EXTRAS]}"
