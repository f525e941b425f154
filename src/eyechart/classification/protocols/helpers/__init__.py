"""What several protocols of classification need, and the searches that one of them makes."""
