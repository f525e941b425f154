"""Logging of runs to experiment trackers: Weights & Biases, MLflow, Trackio."""
