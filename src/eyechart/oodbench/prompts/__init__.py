"""The prompts of OODBench, one file each."""
