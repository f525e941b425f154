"""Baselines: the evidence of an accepted run, read and written, and drift over versions."""
