"""The commands of `python -m kernels`, by theme."""
