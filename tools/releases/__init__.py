"""Tables of what released versions of LMCache and vLLM know, read from their wheels on PyPI. See README.md."""
