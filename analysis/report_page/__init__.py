"""The report: one page that needs nothing but a browser."""
