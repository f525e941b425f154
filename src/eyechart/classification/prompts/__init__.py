"""The prompts of image classification, one file each."""
