"""The adapter of pydantic-ai: `looptck check adapter:pydantic-ai`. It needs the extra `pydantic-ai`.

`adapter` drives an agent of the framework with the kit's seams. Importing this package imports the framework.
"""

from looptck.adapters.pydantic_ai.driving import PydanticAIAdapter

__all__ = ["adapter"]

adapter = PydanticAIAdapter()
