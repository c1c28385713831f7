"""The suite inside pytest: each check is an item. Loaded by `looptck.pytest_plugin` once somebody asks for it."""
