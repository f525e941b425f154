"""Metrics of pairs: functions from predictions to estimates."""
