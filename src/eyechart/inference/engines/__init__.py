"""Engines answer requests: `local` in this process."""
