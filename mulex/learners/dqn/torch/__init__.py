"""The torch engine: the reference implementation, on any device."""
