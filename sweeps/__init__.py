"""From a YAML spec to finished runs: draws, plan, store, Ray Tune, status."""
