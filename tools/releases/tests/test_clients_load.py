"""Which imports fail, of sources that are written out here."""

from __future__ import annotations

import unittest

from releases.clients_load import ImportFails, Loader, Package, Undecided

from .samples import Files

ENGINE = {
    "engine/__init__.py": "from engine.version import VERSION\n",
    "engine/version.py": "VERSION = 1\n",
    "engine/base.py": """
import typing
from engine.parts.spec import *
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from engine.hidden import Hidden
try:
    import fast as speed
except ImportError:
    speed = None
first, (second, third) = 1, (2, 3)
class Base: ...
""",
    "engine/parts/spec.py": "class Spec: ...\n_private = 1\n",
    "engine/native.abi3.so": "",
    "engine/dynamic.py": "def __getattr__(name): ...\n",
}


def outcome(source: str, more: dict[str, str] | None = None) -> str:
    """What comes of loading `client.main` with this text beside `ENGINE`."""
    files = {"client/__init__.py": "", "client/main.py": source, **(more or {})}
    packages = {"client": Package(Files(files)), "engine": Package(Files(ENGINE))}
    try:
        Loader(packages, lambda module: module.startswith("client")).load("client.main")
    except ImportFails as failure:
        return str(failure)
    except Undecided as undecided:
        return f"undecided: {undecided}"
    return "loads"


class Imports(unittest.TestCase):
    def check(self, *cases: tuple[str, str]) -> None:
        for source, expected in cases:
            with self.subTest(source):
                self.assertEqual(outcome(source), expected)

    def test_names_that_a_module_defines_or_hands_on(self) -> None:
        self.check(
            ("from engine import VERSION, base", "loads"),
            ("from engine.base import Base, Spec, speed, first, third, TYPE_CHECKING", "loads"),
            ("import engine.base as b, somebody.elses.module", "loads"),
            ("from engine.native import anything", "loads"),
            ("from engine.dynamic import anything", "loads"),
            ("from engine.base import Hidden", "needs Hidden from engine.base"),
            ("from engine.base import _private", "needs _private from engine.base"),
            ("from engine.gone import x", "needs module engine.gone"),
            ("import engine.base.deeper", "needs module engine.base.deeper"),
        )

    def test_only_what_runs_when_the_module_loads(self) -> None:
        self.check(
            ("def late():\n    import engine.gone", "loads"),
            ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import engine.gone", "loads"),
            ("import typing\nif not typing.TYPE_CHECKING:\n    import engine.gone", "needs module engine.gone"),
            ("class Inner:\n    import engine.gone", "needs module engine.gone"),
            ("with open('x') as file:\n    import engine.gone", "needs module engine.gone"),
        )

    def test_handlers_run_as_python_runs_them(self) -> None:
        gone = "try:\n    import engine.gone\nexcept {}:\n    {}"
        self.check(
            (gone.format("ImportError", "pass"), "loads"),
            (gone.format("(OSError, ModuleNotFoundError)", "pass"), "loads"),
            (gone.format("Exception as error", "x = error"), "loads"),
            (gone.format("OSError", "pass"), "needs module engine.gone"),
            (gone.format("ImportError", "raise"), "needs module engine.gone"),
            (gone.format("ImportError", "import engine.lost"), "needs module engine.lost"),
            (
                gone.format("ImportError as error", "raise RuntimeError('no') from error"),
                "client.main raises RuntimeError('no') from error",
            ),
            # A name that is missing is no missing module.
            ("try:\n    from engine import gone\nexcept ModuleNotFoundError:\n    pass", "needs gone from engine"),
            (
                "try:\n    x = 1\nexcept ImportError:\n    pass\nelse:\n    import engine.gone",
                "needs module engine.gone",
            ),
            ("try:\n    x = 1\nfinally:\n    import engine.gone", "needs module engine.gone"),
        )

    def test_a_failure_under_a_condition_that_cannot_be_read_is_no_verdict(self) -> None:
        self.check(
            (
                "import sys\nif sys.version_info > (3, 12):\n    from engine import VERSION\nelse:\n    import engine",
                "loads",
            ),
            (
                "import sys\nif sys.platform == 'x':\n    import engine.gone",
                "undecided: client.main, line 2: needs module engine.gone if sys.platform == 'x'",
            ),
        )

    def test_packages_load_before_their_modules_and_fail_with_them(self) -> None:
        more = {
            "client/sub/__init__.py": "import engine.gone",
            "client/sub/part.py": "",
            "client/plain/part.py": "X = 1",
        }
        self.assertEqual(outcome("from .sub.part import X", more), "needs module engine.gone")
        self.assertEqual(
            outcome("try:\n    import client.sub\nexcept ImportError:\n    import client.sub", more),
            "needs module engine.gone",
        )
        self.assertEqual(outcome("from .plain import part\nfrom client.plain.part import X", more), "loads")
        self.assertEqual(outcome("from client.plain import other", more), "needs other from client.plain")

    def test_modules_may_import_each_other(self) -> None:
        more = {"client/other.py": "import client.main\nfrom client.main import EARLY\n"}
        self.assertEqual(outcome("EARLY = 1\nimport client.other\nLATE = 2", more), "loads")
        self.assertEqual(outcome("import client.other\nEARLY = 1", more), "needs EARLY from client.main")

    def test_what_is_not_followed_loads_by_itself(self) -> None:
        engine = Package(Files({"engine/__init__.py": "import engine.gone", "engine/a.py": "from nowhere import B"}))
        loader = Loader({"engine": engine}, lambda module: False)
        loader.name("engine.a", "B")
        with self.assertRaisesRegex(ImportFails, "needs C from engine.a"):
            loader.name("engine.a", "C")


class Definitions(unittest.TestCase):
    def test_a_name_is_followed_to_where_it_is_defined(self) -> None:
        package = Package(
            Files({"p/__init__.py": "from .a import B as C", "p/a.py": "from p.b import B", "p/b.py": "class B: ..."})
        )
        module, found = package.definition("p", "C")
        self.assertEqual((module, found and found.name), ("p.b", "B"))  # type: ignore[attr-defined]  # a class
        self.assertEqual(package.definition("p.a", "Z"), ("p.a", None))


if __name__ == "__main__":
    unittest.main()
