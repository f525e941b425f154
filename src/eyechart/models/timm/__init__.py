"""Classifiers of timm."""
