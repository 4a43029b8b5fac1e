"""The sub-commands of this layer."""
