"""The overview of runs, and the history of many."""
