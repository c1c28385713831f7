"""The contract: what a loop is given and what it must offer, in the standard library alone.

`looptck.contract.messages` holds the words that every profile shares, `looptck.contract.ag03` the gated, durable,
traced loop. An implementation imports one profile module and nothing else of the kit.
"""
