"""Results of other tools as runs: a reader for each format, one form that all of them return, and its recording."""
