"""Processes of a model on this machine."""
