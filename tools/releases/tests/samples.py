"""A small package for the tests, as the files of a wheel would be."""

from __future__ import annotations

import textwrap


class Files:
    """Sources from a mapping of paths to texts, instead of a wheel."""

    label = "sample-1.0.whl"

    def __init__(self, files: dict[str, str]) -> None:
        self._files = {path: textwrap.dedent(text) for path, text in files.items()}

    def names(self) -> list[str]:
        return sorted(self._files)

    def has(self, name: str) -> bool:
        return name in self._files

    def text(self, name: str) -> str | None:
        return self._files.get(name)


BASE = """
    class BaseCommand:
        def register(self, subparsers):
            parser = subparsers.add_parser(self.name(), help=self.help())
            self.add_arguments(parser)
            _add_output_args(parser)
            parser.set_defaults(func=self.execute)

    def _add_output_args(parser):
        parser.add_argument("-q", "--quiet", action="store_true", default=False)
"""

SERVER = """
    from pkg.cli.base import BaseCommand

    class ServerCommand(BaseCommand):
        def name(self):
            return "server"

        def add_arguments(self, parser):
            try:
                from pkg.config import add_cache_args
                add_cache_args(parser)
            except ImportError:
                return
"""

# `lmcache bench server` is a command of the same name one level deeper.
BENCH = SERVER.replace("add_cache_args(parser)", 'parser.add_argument("--bench")')

CONFIG = """
    import argparse
    from pkg.backends import available
    from pkg.policies.store import registered_policies

    TOPIC = "events"
    MODES = ("auto", *("lazy", "eager"))

    class Config:
        timeout: float = 1.5

    DEFAULT = Config()

    def add_cache_args(parser: argparse.ArgumentParser):
        group = parser.add_argument_group("Cache")
        group.add_argument("--size-gb", type=float, required=True)
        group.add_argument("--lazy", action=argparse.BooleanOptionalAction, default=True)
        group.add_argument("--adapter", action="append", default=[], type=str)
        group.add_argument("--plugins", nargs="*", default=[])
        group.add_argument("--topic", default=TOPIC)
        group.add_argument("--bytes", type=int, default=6 * 1024)
        group.add_argument("--timeout", type=float, default=DEFAULT.timeout)
        group.add_argument("--id", default=make_id())
        group.add_argument("--mode", choices=MODES, default="auto")
        group.add_argument("--policy", choices=registered_policies())
        group.add_argument("--backend", choices=("auto", *available()))
        parser.add_argument_group("Old").add_argument("--old-size", type=float, help=argparse.SUPPRESS)
        return parser
"""

STORE = """
    _REGISTRY: dict = {}

    def register_policy(name, cls):
        if name in _REGISTRY:
            raise ValueError(name)
        _REGISTRY[name] = cls

    def registered_policies():
        return list(_REGISTRY)

    register_policy("default", object)
"""

BACKENDS = """
    import pkgutil
    from pkg import drivers

    def available():
        return tuple(
            sorted(
                module.name
                for module in pkgutil.iter_modules(drivers.__path__)
                if not module.name.startswith("_") and module.name != "base"
            )
        )
"""

PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/cli/__init__.py": "",
    "pkg/cli/base.py": BASE,
    "pkg/cli/bench/server.py": BENCH,
    "pkg/cli/server.py": SERVER,
    "pkg/config.py": CONFIG,
    "pkg/policies/__init__.py": "",
    "pkg/policies/store.py": STORE,
    "pkg/policies/extra.py": "from pkg.policies.store import register_policy\nregister_policy('skip', object)",
    "pkg/backends.py": BACKENDS,
    "pkg/drivers/__init__.py": "",
    "pkg/drivers/base.py": "",
    "pkg/drivers/_util.py": "",
    "pkg/drivers/cufile.py": "",
    "pkg/drivers/ugds.py": "",
}
