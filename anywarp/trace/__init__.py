"""What listens to the interpreter: traces with their counters, and the sanitizer."""
