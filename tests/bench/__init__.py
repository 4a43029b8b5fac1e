"""Side-by-side timings: `make bench` runs every module here and writes build/bench.json."""
