"""What trains a run: our DQN (`dqn/`), and external learners (SB3, Python code, commands) in the modules beside it."""
