"""Grid worlds: maps, their compiled tables, the stepper of a pack, the Gymnasium environment and its pictures."""
