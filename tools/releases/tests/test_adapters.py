"""How the members that an adapter requires are found."""

from __future__ import annotations

import textwrap
import unittest

from releases.adapters import AdapterType, adapter_types
from releases.modules import Project

from .samples import Files

FOLDER = "lmcache/v1/distributed/l2_adapters"

CONFIG = """
    _TYPES: dict = {}

    def register_l2_adapter_type(name, cls):
        _TYPES[name] = cls
"""

ADAPTER = """
    from lmcache.v1.distributed.l2_adapters.config import register_l2_adapter_type

    BACKENDS = ("POSIX", "GDS")

    def _check_path(value, name="path"):
        if not isinstance(value, str) or not value.strip():
            raise ValueError(name)
        return value

    class SampleConfig:
        @classmethod
        def from_dict(cls, d: dict):
{body}
            return cls(**locals())

    register_l2_adapter_type("sample", SampleConfig)
"""


def read(body: str) -> AdapterType:
    indented = textwrap.indent(textwrap.dedent(body), " " * 12)
    files = {f"{FOLDER}/config.py": CONFIG, f"{FOLDER}/sample_l2_adapter.py": ADAPTER.format(body=indented)}
    (adapter,) = adapter_types(Project(Files(files)))
    return adapter


class Required(unittest.TestCase):
    def check(self, body: str, *required: str) -> None:
        self.assertEqual(read(body), AdapterType("sample", required, readable=True))

    def test_refused_when_missing(self) -> None:
        self.check(
            """
            path = d.get("path")
            if not isinstance(path, str) or not path:
                raise ValueError("path must be a non-empty string")
            size = d.get("size")
            if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
                raise ValueError("size must be a positive integer")
            """,
            "path",
            "size",
        )

    def test_refused_as_no_word_of_a_list(self) -> None:
        self.check('backend = d.get("backend")\nif backend not in BACKENDS:\n    raise ValueError(backend)', "backend")

    def test_refused_by_a_function(self) -> None:
        self.check('path = _check_path(d.get("path"))', "path")

    def test_default(self) -> None:
        self.check('workers = d.get("workers", 4)\nif workers <= 0:\n    raise ValueError(workers)')

    def test_missing_is_allowed(self) -> None:
        self.check('ttl = d.get("ttl")\nif ttl is not None and not isinstance(ttl, int):\n    raise ValueError(ttl)')

    def test_only_under_a_condition(self) -> None:
        self.check('if "devices" in d:\n    devices = d["devices"]\nelse:\n    path = _check_path(d.get("path"))')


class NotReadable(unittest.TestCase):
    def test_the_object_goes_elsewhere(self) -> None:
        self.assertFalse(read("options = Options.of(d)").readable)

    def test_the_constructor_may_check(self) -> None:
        self.assertFalse(read('return cls(url=d.get("url", ""))').readable)


if __name__ == "__main__":
    unittest.main()
