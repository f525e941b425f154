"""Metrics of answers to questions."""
