"""Our own learner: DQN agents with one or more heads, trained as a pack."""
