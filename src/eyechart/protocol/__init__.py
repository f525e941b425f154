"""What all protocols share: their options, prompts and context, and the record that a case writes."""
