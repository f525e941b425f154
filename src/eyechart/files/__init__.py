"""Files: atomic writes, URLs, default folders, texts, and files of installed packages."""
