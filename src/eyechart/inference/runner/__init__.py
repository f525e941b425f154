"""The runner answers each request once, from the store or by the model."""
