"""The native engine against the ways people train a DQN elsewhere: `make bench-peers`."""
