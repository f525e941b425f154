"""Splits."""
