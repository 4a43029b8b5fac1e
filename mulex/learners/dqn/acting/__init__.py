"""Which head acts, one file a rule; `registry.py` lists them."""
