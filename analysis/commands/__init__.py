"""The sub-commands that look at results."""
