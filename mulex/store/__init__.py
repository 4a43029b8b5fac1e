"""The files of a sweep: where they are, how they are written whole, and how damage is found. Needs no torch or Ray."""
