"""Pytester, and nothing else: whoever runs the benchmarks here pays for what stands here."""

pytest_plugins = ["pytester"]
