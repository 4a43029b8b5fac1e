"""What the plan, the store and the commands cost with very many runs: the tables of docs/scale.md."""
