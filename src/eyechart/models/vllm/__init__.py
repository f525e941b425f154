"""Generators of vLLM."""
