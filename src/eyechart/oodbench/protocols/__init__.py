"""Protocols."""
