"""Words of messages: counts, nearest names, install commands, secrets and columns."""
