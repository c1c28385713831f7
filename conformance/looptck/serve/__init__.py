"""A scenario's model served alone, and what its requests alone tell of the loop behind them.

`session` serves and listens; all else here is pure: `messages` reads a request, `conversation` puts requests beside
the replies that they got, `stops` says what ends the run, `checks` are the facts, `judge` makes a report of them.
"""
