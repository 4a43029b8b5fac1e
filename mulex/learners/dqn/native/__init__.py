"""The native engine: the same training in C++, on a CPU."""
