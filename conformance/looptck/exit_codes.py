"""What a command exits with. Nothing is imported here, so that what only asks for a code loads no report."""

EXIT_PASS, EXIT_FAIL, EXIT_INCOMPLETE, EXIT_FAULT, EXIT_USAGE = 0, 1, 2, 3, 4
"""Verdicts: all passed; a check failed; something could not be judged; a fault of the kit; a wrong command line."""
EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143
"""Ended from outside: by Ctrl-C, or by a reader that has enough; by SIGTERM."""
