"""What belongs to the MuleX paper alone: its claims and its special figures."""
