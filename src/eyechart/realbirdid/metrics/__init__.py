"""Metrics of birds and abstention: functions from predictions to estimates."""
