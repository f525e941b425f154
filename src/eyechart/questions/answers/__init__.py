"""How answers to questions are read and scored, and the predictions of a case."""
