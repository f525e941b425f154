"""What all protocols share: base class, context, options, prompts, and the result of a case."""
