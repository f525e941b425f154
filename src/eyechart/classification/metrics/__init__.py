"""Metrics of image classification: functions from predictions to estimates."""
