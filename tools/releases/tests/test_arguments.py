"""How options are found in a package's syntax trees."""

from __future__ import annotations

import unittest

from releases.arguments import Argument, Reader, command
from releases.modules import Project
from releases.wheels import ReadError

from .samples import CONFIG, PACKAGE, Files


def read(changed: dict[str, str] | None = None, spoken: dict[str, list[str]] | None = None) -> dict[str, Argument]:
    project = Project(Files({**PACKAGE, **(changed or {})}))
    method = command(project, "pkg.cli", "server")
    assert method is not None
    return {argument.options[-1]: argument for argument in Reader(project, spoken).follow(method)}


def read_with(line: str, spoken: dict[str, list[str]] | None = None) -> dict[str, Argument]:
    """The sample with one more line in the function that adds options."""
    return read(
        {"pkg/config.py": CONFIG.replace("        return parser", f"        {line}\n        return parser")}, spoken
    )


class Found(unittest.TestCase):
    def test_every_option_that_the_command_reaches(self) -> None:
        names = [
            "--help", "--size-gb", "--lazy", "--adapter", "--plugins", "--topic", "--bytes", "--timeout", "--id",
            "--mode", "--policy", "--backend", "--old-size", "--quiet",
        ]  # fmt: skip
        self.assertEqual(list(read()), names)

    def test_shapes(self) -> None:
        found = read()
        self.assertEqual(found["--size-gb"], Argument(["--size-gb"], type="float", required=True))
        self.assertEqual(found["--lazy"], Argument(["--lazy"], action="BooleanOptionalAction", default=True))
        self.assertEqual(found["--adapter"], Argument(["--adapter"], type="str", action="append", default=[]))
        self.assertEqual(found["--plugins"], Argument(["--plugins"], nargs="*", default=[]))
        self.assertEqual(found["--quiet"], Argument(["-q", "--quiet"], action="store_true", default=False))
        self.assertEqual(found["--old-size"], Argument(["--old-size"], type="float", hidden=True))

    def test_defaults_from_constants_and_classes(self) -> None:
        found = read()
        self.assertEqual(found["--topic"].default, "events")
        self.assertEqual(found["--bytes"].default, 6144)
        self.assertEqual(found["--timeout"].default, 1.5)
        self.assertEqual(found["--id"].default, {"code": "make_id()"})

    def test_choices_from_constants_registries_and_folders(self) -> None:
        found = read()
        self.assertEqual(found["--mode"].choices, ["auto", "eager", "lazy"])
        self.assertEqual(found["--policy"].choices, ["default", "skip"])
        self.assertEqual(found["--backend"].choices, ["auto", "cufile", "ugds"])


class Refused(unittest.TestCase):
    """Nothing is left out silently: what cannot be followed stops the reading."""

    def test_choices_that_nobody_knows(self) -> None:
        line = 'group.add_argument("--format", choices=load_formats())'
        with self.assertRaisesRegex(ReadError, "choices of --format cannot be read.*behaviour.toml"):
            read_with(line)
        self.assertEqual(read_with(line, {"--format": ["json", "csv"]})["--format"].choices, ["csv", "json"])

    def test_options_under_a_condition(self) -> None:
        with self.assertRaisesRegex(ReadError, "pkg/config.py:.*condition"):
            read_with('if has_gpu(): parser.add_argument("--gpu")')

    def test_options_in_a_loop(self) -> None:
        with self.assertRaisesRegex(ReadError, "condition"):
            read_with("for name in NAMES: parser.add_argument(name)")

    def test_a_parser_that_leaves_the_package(self) -> None:
        with self.assertRaisesRegex(ReadError, "cannot be followed"):
            read_with("torch.add_options(parser)")

    def test_options_of_an_unknown_owner(self) -> None:
        with self.assertRaisesRegex(ReadError, "cannot be followed"):
            read_with('groups["cache"].add_argument("--gpu")')

    def test_a_type_that_is_computed(self) -> None:
        with self.assertRaisesRegex(ReadError, "type of --port cannot be read"):
            read_with('group.add_argument("--port", type=lambda text: int(text))')

    def test_a_parser_that_reads_prefixes_differently(self) -> None:
        base = PACKAGE["pkg/cli/base.py"].replace("help=self.help()", "allow_abbrev=False")
        with self.assertRaisesRegex(ReadError, "allow_abbrev"):
            read({"pkg/cli/base.py": base})


if __name__ == "__main__":
    unittest.main()
