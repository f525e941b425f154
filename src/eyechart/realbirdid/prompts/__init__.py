"""The prompts of RealBirdID, one file each."""
