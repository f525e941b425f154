"""Models of transformers: `hf`, `hf_clip` and `blip2`."""
