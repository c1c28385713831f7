"""The mutants of the reference loops, and the harness that shows each of them killed by the check meant for it."""
