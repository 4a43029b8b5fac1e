"""From the two tables of a sweep to figures, statistics and a report."""
