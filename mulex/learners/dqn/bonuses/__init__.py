"""Exploration bonuses, one file each; `registry.py` lists them."""
