"""The fuzzer: hypothesis makes whole scenarios, the oracle predicts them, and what differs is shrunk."""
