"""The exit status of the gate, above the statuses of pytest, with room for new ones; 12 is for too many errors."""

REGRESSION, ABSENT, INCONCLUSIVE = 10, 11, 13
