"""Arguments, options and groups that commands share."""
