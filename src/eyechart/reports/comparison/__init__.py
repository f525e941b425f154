"""Comparison of runs: verdicts as cells, leaderboard and noise floor."""
