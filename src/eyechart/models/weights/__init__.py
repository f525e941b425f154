"""Weights: where they are, their digests, and errors of loading."""
