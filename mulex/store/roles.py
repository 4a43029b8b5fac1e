"""The roles of runs."""

TUNE, TEST = "tune", "test"
"""Draws are chosen by tuning runs, and confirmed by test runs with seeds of their own."""
