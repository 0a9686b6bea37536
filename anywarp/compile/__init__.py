"""Running CUDA C++: compiled by NVRTC, launched on a GPU or in the interpreter."""
