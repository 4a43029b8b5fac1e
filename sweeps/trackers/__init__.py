"""Sends runs to experiment trackers and other programs' files, while a sweep runs and afterwards."""
