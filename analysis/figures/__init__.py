"""One module a figure: `compute` from tables to data, `chart` from data to panels of marks."""
