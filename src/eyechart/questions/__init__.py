"""Questions of one's own: a table of images, questions and answers."""
