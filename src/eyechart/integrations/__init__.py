"""Callbacks of training loops: transformers' Trainer, and Lightning."""
