"""Hypothesis profiles and pytester, nothing else."""

pytest_plugins = ["pytester"]

try:
    from hypothesis import settings
except ImportError:  # the benchmarks run without the test extra
    pass
else:
    settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True)
    settings.register_profile("thorough", max_examples=2000, deadline=None)
    settings.load_profile("ci")
