"""Actors of a model on a Ray cluster."""
