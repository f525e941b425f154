"""Answers of image classification: parsed responses, predictions, and the mapping of answers to classes."""
