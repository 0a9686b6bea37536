"""What only a GPU can tell: timings, Nsight Compute's counters, and the records of both."""
