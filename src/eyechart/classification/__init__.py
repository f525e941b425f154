"""Image classification: zero-shot, supervised, k-NN, and multimodal language models in words and by likelihood."""
