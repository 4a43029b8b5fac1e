"""Worlds, agents, engines, and the training of one pack. Importing it makes the worlds known to Gymnasium."""

from mulex.worlds.env import register_worlds

register_worlds()
