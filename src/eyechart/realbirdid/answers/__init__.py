"""Answers about birds: predictions, prompt sets and reasons of abstention."""
