"""Measures products over the GPUs of a machine, and what their model needs."""
