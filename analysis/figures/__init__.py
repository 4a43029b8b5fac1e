"""The figures for any sweep, one module each: `compute` makes data from tables, `chart` panels of marks from data."""
