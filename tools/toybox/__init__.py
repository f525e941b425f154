"""How the packaged toy models were made and are graded; none of it is installed."""
