"""Tables of questions, their columns and their pictures."""
