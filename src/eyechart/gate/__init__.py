"""Telling a real loss from noise: what numbers are made of, baselines, comparison, floors."""
