"""One case, from data and model to its record, and what the cases of a session share."""
