"""The prompts of questions, one for each kind of answer."""
