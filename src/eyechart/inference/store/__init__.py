"""The store of answers: entries, keys, arrays, responses and copies."""
