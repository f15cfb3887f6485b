"""What a benchmark asked to be written in C, beside the Python it must agree with; without a compiler, that runs."""
