"""Questions of one's own; one test function per protocol."""
