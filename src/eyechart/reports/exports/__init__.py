"""Runs in the formats of other tools: each exporter yields the names and contents of files."""
