"""Spot check."""
