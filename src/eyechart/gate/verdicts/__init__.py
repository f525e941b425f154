"""Verdicts from comparisons, their messages and their file."""
