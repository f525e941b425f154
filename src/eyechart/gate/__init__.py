"""Compare runs with baselines and floors, and decide which changes are significant."""
