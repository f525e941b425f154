"""ConSE: an encoder made of a classifier and a sentence encoder."""
