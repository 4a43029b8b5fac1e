"""The live page: a small read-only server that shows sweeps while they run and afterwards, from their folders alone."""
