"""Mutants that nobody wrote: mutmut changes a loop everywhere it can, and the suite, or somebody's tests, judge.

The steps, each a module: what is mutated (`subject`), a scratch copy of it (`staging`), mutmut in that copy
(`running`), what it found (`results`), what is known of it (`triage`), the report (`outcome`). `items` and `recording`
run inside the copy, under pytest under mutmut.
"""
