"""Pictures of grid worlds for people."""
