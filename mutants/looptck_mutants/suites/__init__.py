"""Other people's tests against the mutants: which of them kill what, and how that is kept from being a trick."""
