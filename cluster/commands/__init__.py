"""The sub-commands that deal with Ray clusters."""
