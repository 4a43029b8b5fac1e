"""The examples, executed as a reader would."""
