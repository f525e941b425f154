"""Images are read and decoded ahead of the model, in threads or processes."""
