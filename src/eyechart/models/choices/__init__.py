"""Choices among many texts: a trie of their tokens, and the search in it."""
