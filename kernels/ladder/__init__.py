"""What a step of the ladder is: its file, its shape constraints, how it is chosen and checked."""
