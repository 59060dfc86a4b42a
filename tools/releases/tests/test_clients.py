"""The pairs of clients and vLLM, the hand-kept file, and the Rust that is made of them."""

from __future__ import annotations

import copy
import json
import tomllib
import unittest
from typing import Any

from releases import clients, clients_rust
from releases.clients_load import Package
from releases.clients_rust import FITS, Rules, words
from releases.clients_seen import PATH, Seen
from releases.clients_vllm import ARGUMENTS, FACTORY, flags, module_path_wins, own_connector
from releases.clients_wire import PROTOCOLS
from releases.wheels import ReadError

from .samples import Files

CONTENT = tomllib.loads(PATH.read_text(encoding="utf-8"))

REGISTRY_FIRST = """
    class KVConnectorFactory:
        def get(cls, config):
            if config.name in cls._registry:
                found = cls._registry[config.name]()
            else:
                found = importlib.import_module(config.kv_connector_module_path)
            return found

    KVConnectorFactory.register_connector("LMCacheMPConnector", "vllm.distributed.kv_transfer.kv_connector.v1.lmcache_own", "X")
"""

PATH_FIRST = """
    class KVConnectorFactory:
        def get(cls, config):
            if config.kv_connector_module_path:
                found = importlib.import_module(config.kv_connector_module_path)
            elif config.name in cls._registry:
                found = cls._registry[config.name]()
            return found

    KVConnectorFactory.register_connector("LMCacheMPConnector", "vllm.distributed.kv_transfer.kv_connector.v1.lmcache_own", "X")
"""

OWN = "vllm/distributed/kv_transfer/kv_connector/v1/lmcache_own.py"
ADAPTER = "from lmcache.integration.vllm.adapter import Adapter\nclass LMCacheMPConnector: ...\n"
CONNECTOR = "from vllm.config import VllmConfig\nclass LMCacheMPConnector: ...\n"
UTILS = """
    def try_get_vllm_kv_cache_layout():
        try:
            from vllm.v1.attention.backends.utils import get_kv_cache_layout
        except ImportError:
            return None
"""


def module(name: str) -> str:
    return name.replace(".", "/") + ".py"


def vllm(factory: str, **more: str) -> Package:
    return Package(Files({module(FACTORY): factory, OWN: ADAPTER, "vllm/config.py": "class VllmConfig: ...", **more}))


def lmcache(**more: str) -> Package:
    return Package(
        Files(
            {
                "lmcache/integration/vllm/adapter.py": "class Adapter: ...",
                "lmcache/integration/vllm/lmcache_mp_connector.py": CONNECTOR,
                "lmcache/integration/vllm/utils.py": UTILS,
                **more,
            }
        )
    )


class Vllm(unittest.TestCase):
    def test_which_connector_runs(self) -> None:
        self.assertFalse(module_path_wins(vllm(REGISTRY_FIRST)))
        self.assertTrue(module_path_wins(vllm(PATH_FIRST)))
        self.assertEqual(own_connector(vllm(PATH_FIRST), "LMCacheMPConnector"), OWN[:-3].replace("/", "."))
        self.assertIsNone(own_connector(vllm(PATH_FIRST), "Another"))
        for unreadable in ("class KVConnectorFactory: ...", REGISTRY_FIRST + PATH_FIRST):
            with self.assertRaises(ReadError):
                module_path_wins(vllm(unreadable))

    def test_flags(self) -> None:
        source = """
            from vllm.config import SchedulerConfig
            scheduler_kwargs = get_kwargs(SchedulerConfig)
            group.add_argument("--model")
            group.add_argument("--async-scheduling", **scheduler_kwargs["async_scheduling"])
            group.add_argument("--chunked", **{**scheduler_kwargs["chunked"], "default": None})
            group.add_argument("--limit", "-l", **scheduler_kwargs["limit"])
            group.add_argument("--either", **scheduler_kwargs["either"])
        """
        config = """
            class SchedulerConfig:
                async_scheduling: bool | None = None
                chunked: bool = Field(default=True)
                limit: int = 1
                either: bool | str = False
        """
        package = Package(Files({module(ARGUMENTS): source, "vllm/config.py": config}))
        expected = {
            "--model",
            "--async-scheduling",
            "--no-async-scheduling",
            "--chunked",
            "--no-chunked",
            "--limit",
            "--either",
        }
        self.assertEqual(flags(package), expected)
        with self.assertRaises(ReadError):
            flags(Package(Files({module(ARGUMENTS): "def other(): ..."})))


class Pairs(unittest.TestCase):
    def fit(self, engine: Package, client: Package, own: list[dict[str, Any]] | None = None) -> tuple[str, str]:
        content = {**CONTENT, "own_connector": own or []}
        return clients.Pairs(Seen(content, ["1.0.0"], ["0.1.0"]), {"1.0.0": engine}, {"0.1.0": client}).fit(0, 0)

    def test_our_connector(self) -> None:
        layout = {"vllm/v1/attention/backends/utils.py": "def get_kv_cache_layout(): ..."}
        self.assertEqual(self.fit(vllm(PATH_FIRST, **layout), lmcache()), ("loads", ""))
        self.assertEqual(
            self.fit(vllm(PATH_FIRST), lmcache()),
            (
                "no-layout-hint",
                "try_get_vllm_kv_cache_layout: get_kv_cache_layout is not in vllm.v1.attention.backends.utils",
            ),
        )
        older = Package(Files({"lmcache/__init__.py": ""}))
        self.assertEqual(self.fit(vllm(PATH_FIRST), older), ("no-module", "needs module lmcache.integration"))
        newer = {module(CONTENT["module"]): "from vllm.config import Later\nclass LMCacheMPConnector: ..."}
        self.assertEqual(
            self.fit(vllm(PATH_FIRST), lmcache(**newer)), ("does-not-load", "needs Later from vllm.config")
        )
        renamed = {module(CONTENT["module"]): "class Renamed: ..."}
        self.assertEqual(self.fit(vllm(PATH_FIRST), lmcache(**renamed))[0], "does-not-load")

    def test_the_other_way_to_ask_for_the_layout(self) -> None:
        asks = """
            def try_get_vllm_kv_cache_layout(config):
                if hasattr(config, "get_resolved_kv_cache_layout"):
                    return config.get_resolved_kv_cache_layout()
        """
        client = lmcache(**{"lmcache/integration/vllm/utils.py": asks})
        engine = {"vllm/config/cache.py": "class CacheConfig:\n    def get_resolved_kv_cache_layout(self): ..."}
        engine["vllm/config/__init__.py"] = "class VllmConfig: ..."
        package = Package(Files({module(FACTORY): PATH_FIRST, OWN: ADAPTER, **engine}))
        self.assertEqual(self.fit(package, client), ("loads", ""))
        self.assertEqual(self.fit(vllm(PATH_FIRST), client)[0], "no-layout-hint")

    def test_a_client_whose_question_moved_has_to_be_looked_at(self) -> None:
        client = lmcache(**{"lmcache/integration/vllm/utils.py": "X = 1"})
        with self.assertRaisesRegex(ReadError, "try_get_vllm_kv_cache_layout"):
            self.fit(vllm(PATH_FIRST), client)

    def test_vllms_own_connector_needs_somebody_who_looked(self) -> None:
        statement = {"vllm": ["1.0.0", ""], "lmcache": ["0.1.0", "0.1.0"], "fits": True, "why": "seen"}
        self.assertEqual(self.fit(vllm(REGISTRY_FIRST), lmcache(), [statement]), ("own-connector", "seen"))
        statement = {**statement, "fits": False}
        self.assertEqual(self.fit(vllm(REGISTRY_FIRST), lmcache(), [statement]), ("own-connector-fails", "seen"))
        with self.assertRaisesRegex(ReadError, "own_connector"):
            self.fit(vllm(REGISTRY_FIRST), lmcache())
        # What does not even load needs no statement.
        client = Package(Files({"lmcache/__init__.py": ""}))
        fit, why = self.fit(vllm(REGISTRY_FIRST), client)
        self.assertEqual((fit, why), ("own-connector-fails", "needs module lmcache.integration"))

    def test_without_one_of_its_own_ours_runs(self) -> None:
        factory = REGISTRY_FIRST.replace("LMCacheMPConnector", "Another")
        layout = {"vllm/v1/attention/backends/utils.py": "def get_kv_cache_layout(): ..."}
        self.assertEqual(self.fit(vllm(factory, **layout), lmcache()), ("loads", ""))


class Wire(unittest.TestCase):
    def groups(self, understood: list[dict[str, str]]) -> list[Any]:
        packages = {}
        for release, payload in (("0.1.0", "int"), ("0.2.0", "int"), ("0.3.0", "str"), ("0.4.0", "bytes")):
            base = "class RequestType:\n    STORE = enum.auto()\n"
            store = f'DEFINITIONS = {{"STORE": ProtocolDefinition(payload_classes=[{payload}], response_class=None)}}\n'
            files = {module(f"{PROTOCOLS}.base"): base, module(f"{PROTOCOLS}.engine"): store}
            packages[release] = Package(Files(files))
        seen = Seen({**CONTENT, "own_connector": [], "understood": understood}, ["1.0.0"], list(packages))
        return [(group["lmcache"], group["changed"]) for group in clients.wire_groups(packages, seen)]

    def test_a_difference_begins_a_group(self) -> None:
        self.assertEqual(
            self.groups([]),
            [
                (["0.1.0", "0.2.0"], []),
                (["0.3.0", "0.3.0"], ["STORE carries [str], was [int]"]),
                (["0.4.0", None], ["STORE carries [bytes], was [str]"]),
            ],
        )

    def test_unless_somebody_looked(self) -> None:
        groups = self.groups([{"lmcache": "0.3.0", "why": "seen"}])
        self.assertEqual([group[0] for group in groups], [["0.1.0", "0.3.0"], ["0.4.0", None]])
        with self.assertRaisesRegex(ReadError, "expected one of 0.1.0"):
            self.groups([{"lmcache": "0.9.0", "why": "seen"}])


class HandKept(unittest.TestCase):
    def test_faults_are_named(self) -> None:
        entry = {"vllm": ["0.17.0", ""], "lmcache": ["0.4.1", ""], "fits": True, "why": ""}
        for change, expected in (
            ({"flags": None}, "flags: expected a list"),
            ({"more": 1}, "more: expected only"),
            ({"own_connector": [{"vllm": ["0.17.0", ""]}]}, "own_connector has vllm; expected"),
            ({"own_connector": [{**entry, "vllm": ["0.1.0", ""]}]}, "expected two of 0.17.0"),
            ({"own_connector": [{**entry, "lmcache": ["0.4.1"]}]}, "expected two of 0.4.1"),
        ):
            with self.subTest(change), self.assertRaisesRegex(ReadError, expected):
                Seen({**CONTENT, "own_connector": [], **change}, ["0.17.0"], ["0.4.1"])

    def test_two_statements_about_one_pair(self) -> None:
        entry = {"vllm": ["0.17.0", ""], "lmcache": ["0.4.1", ""], "fits": True, "why": ""}
        seen = Seen({**CONTENT, "own_connector": [entry, entry]}, ["0.17.0"], ["0.4.1"])
        with self.assertRaisesRegex(ReadError, "2 statements"):
            seen.own_connector(0, 0)

    def test_a_word_that_is_forgotten_again(self) -> None:
        known = [set(), {"a"}, {"a"}]
        self.assertEqual(clients.first_of("a", known, ["1", "2", "3"], "key"), "2")
        cases: list[list[set[str]]] = [[{"a"}, set()], [set(), set()], [{"a"}, set(), {"a"}]]
        for gone in cases:
            with self.assertRaises(ReadError):
                clients.first_of("a", gone, ["1", "2", "3"][: len(gone)], "key")


class Data(unittest.TestCase):
    data = json.loads(clients.DATA.read_text(encoding="utf-8"))

    def test_the_rust_is_what_the_data_says(self) -> None:
        self.assertEqual(
            clients.TABLE.read_text(encoding="utf-8"),
            clients_rust.render(self.data),
            "run `python3 tools/releases write`",
        )

    def test_the_hand_kept_file_fits_the_data(self) -> None:
        releases = ([each["release"] for each in self.data[side]] for side in ("vllm", "lmcache"))
        seen = Seen.load(*releases)
        self.assertEqual({row["flag"] for row in self.data["flags"]}, set(seen.flags))
        self.assertEqual([row["key"] for row in self.data["keys"]], seen.keys)

    def test_a_pair_that_is_missing(self) -> None:
        data = {**self.data, "pairs": self.data["pairs"][1:]}
        with self.assertRaisesRegex(ReadError, "vLLM 0.11.0 with LMCache 0.4.1"):
            Rules(data)


def table(*rows: str, releases: list[str] | None = None) -> Rules:
    """Rules for clients 0.1.0, 0.2.0 and so on, a letter for the fit of each: one text a vLLM."""
    letters = {word[0]: word for word in ("loads", "own-connector", "does-not-load", "no-module")} | {
        "f": "own-connector-fails",
        "h": "no-layout-hint",
    }
    assert set(letters.values()) == set(FITS)
    vllm_names = [f"1.{number}.0" for number in range(len(rows))]
    client_names = releases or [f"0.{number}.0" for number in range(1, len(rows[0]) + 1)]
    pairs = [
        {"vllm": [name, name], "lmcache": [client, client], "fit": letters[letter]}
        for name, row in zip(vllm_names, rows)
        for client, letter in zip(client_names, row)
    ]
    return Rules(
        {
            "vllm": [{"release": name} for name in vllm_names],
            "lmcache": [{"release": name} for name in client_names],
            "pairs": pairs,
            "flags": [],
            "keys": [{"key": "lmcache.mp.isolated_ipc", "first": client_names[-1]}],
        }
    )


class Advice(unittest.TestCase):
    def test_a_newer_vllm_where_one_takes_this_client_else_another_client(self) -> None:
        rules = table("ffd", "off", "nld", "nhl")
        self.assertEqual(
            rules.rows(),
            [
                ("1.0.0", "0.1.0", "NoClient", "use vLLM 1.3.0 or newer"),
                ("1.1.0", "0.1.0", "OwnConnector", "only LMCache 0.1.0 works, with host and port alone"),
                ("1.1.0", "0.2.0", "OwnConnectorFails", "use vLLM 1.2.0 or newer"),
                ("1.1.0", "0.3.0", "OwnConnectorFails", "use vLLM 1.3.0 or newer"),
                ("1.2.0", "0.1.0", "NoModule", "use LMCache 0.2.0"),
                ("1.2.0", "0.2.0", "Loads", ""),
                ("1.2.0", "0.3.0", "DoesNotLoad", "use vLLM 1.3.0 or newer"),
                ("1.3.0", "0.1.0", "NoModule", "use LMCache 0.3.0 or newer"),
                ("1.3.0", "0.2.0", "NoLayoutHint", "use LMCache 0.3.0 or newer"),
                ("1.3.0", "0.3.0", "Loads", ""),
            ],
        )

    def test_a_newest_vllm_that_takes_nothing(self) -> None:
        self.assertEqual(table("l", "l", "d").rows()[-1], ("1.2.0", "0.1.0", "NoClient", "use vLLM 1.0.0 to 1.1.0"))
        self.assertEqual(table("ll", "dl").rows()[1], ("1.1.0", "0.1.0", "DoesNotLoad", "use LMCache 0.2.0 or newer"))

    def test_a_client_that_loads_nowhere(self) -> None:
        self.assertEqual(table("dn").data["keys"][0]["first"], "0.2.0")
        with self.assertRaisesRegex(ReadError, "it loads nowhere"):
            table("dn").rows()

    def test_isolated(self) -> None:
        self.assertEqual(table("of", "ll").isolated(), ("0.2.0", "use vLLM 1.1.0 or newer"))

    def test_words(self) -> None:
        names = ["1", "2", "3"]
        self.assertEqual([words(span, names) for span in ((0, 1), (1, 1), (1, 2))], ["1 to 2", "2", "2 or newer"])

    def test_flags(self) -> None:
        rules = table("l", "l", "l")
        always, later, gone = ([start, end] for start, end in (("1.0.0", None), ("1.1.0", None), ("1.0.0", "1.1.0")))
        rules.data["flags"] = [{"flag": "--always", "vllm": always}, {"flag": "--later", "vllm": later}]
        rules.data["flags"] += [{"flag": "--gone", "vllm": gone}]
        text = "\n".join(rules.flags())
        self.assertNotIn("--always", text)
        for line in (
            "[Flag; 2]",
            'name: "--later",\n        from: release(1, 1, 0),\n        before: None,\n        advice: "use vLLM 1.1.0 or newer"',
            'before: Some(release(1, 2, 0)),\n        advice: "use vLLM 1.0.0 to 1.1.0"',
        ):
            self.assertIn(line, text)
        twice = copy.deepcopy(rules)
        twice.data["flags"].append({"flag": "--gone", "vllm": ["1.2.0", None]})
        with self.assertRaisesRegex(ReadError, "--gone"):
            twice.flags()


if __name__ == "__main__":
    unittest.main()
