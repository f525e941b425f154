"""The protocol that asks the questions of a table."""
