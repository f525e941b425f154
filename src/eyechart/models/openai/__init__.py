"""Generators behind a server with the OpenAI API."""
