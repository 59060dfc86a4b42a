"""Requests between client and server, and what two releases disagree about."""

from __future__ import annotations

import unittest

from releases.clients_load import Package
from releases.clients_wire import METHODS, NUMBERS, PROTOCOLS, Request, Unreadable, differences, requests

from .samples import Files

TYPES = """
    import msgspec, pickle
    from typing import TypedDict

    class Key(msgspec.Struct):
        model: str
        salt: str = ""

    class Hints(TypedDict, total=False):
        layout: str

    class DeviceHandle:
        @staticmethod
        def Serialize(handle): return pickle.dumps(handle)

    class CudaIPCWrapper(DeviceHandle): ...

    Cache = list[DeviceHandle]
"""

BASE = """
    import enum

    class RequestType(enum.Enum):
        \"\"\"All requests.\"\"\"
        REGISTER = enum.auto()
        STORE = enum.auto()
        PING = enum.auto()
        OLD_PING = PING
"""

ENGINE = """
    from lmcache.v1.multiprocess.custom_types import Cache, Hints, Key as K
    from lmcache.v1.multiprocess.protocols.base import ProtocolDefinition
    KeyType = K

    def get_protocol_definitions():
        return {
            "REGISTER": ProtocolDefinition(payload_classes=[int, Cache, Hints], response_class=None),
            "STORE": ProtocolDefinition(payload_classes=[KeyType, list[int]], response_class=tuple[bytes, bool]),
            "PING": ProtocolDefinition(payload_classes=[], response_class=Optional[int]),
        }
"""


def path(module: str) -> str:
    return module.replace(".", "/") + ".py"


TABLES = {
    path("lmcache.v1.multiprocess.custom_types"): TYPES,
    path(f"{PROTOCOLS}.base"): BASE,
    path(f"{PROTOCOLS}.engine"): ENGINE,
}

METHODS_FILES = {
    path("lmcache.v1.multiprocess.custom_types"): TYPES,
    path(NUMBERS): 'LEGACY = wrap({"register": 1, "store": 2, "ping": 3})\n',
    path(METHODS): """
        from lmcache.v1.multiprocess.custom_types import DeviceHandle, Hints, Key

        class RequestClient:
            @rpc_method
            def register(self, instance_id: int, kv: list[DeviceHandle], hints: Hints) -> MessagingFuture[None]: ...

            @rpc_method
            def store(self, key: Key, block_ids: list[int]) -> MessagingFuture[tuple[bytes, bool]]: ...

            @rpc_method
            def ping(self) -> MessagingFuture[int | None]: ...

            @rpc_method
            def subscribe(self, cursor: int) -> MessagingStream[bytes]: ...

            def close(self) -> None: ...
    """,
}


class Requests(unittest.TestCase):
    def test_tables(self) -> None:
        found = requests(Package(Files(TABLES)))
        handle = "<pickle of lmcache.v1.multiprocess.custom_types.CudaIPCWrapper>"
        self.assertEqual(found["REGISTER"], Request(1, f"[int, list[{handle}], {{}}]", "None"))
        self.assertEqual(found["STORE"], Request(2, "[{model: str}, list[int]]", "tuple[bytes, bool]"))
        self.assertEqual(found["PING"], Request(3, "[]", "int | None"))

    def test_methods_say_the_same_as_tables(self) -> None:
        found = requests(Package(Files(METHODS_FILES)))
        self.assertEqual(found.pop("SUBSCRIBE"), Request(None, "[int]", "bytes"))
        self.assertEqual(found, requests(Package(Files(TABLES))))

    def test_a_form_that_is_not_known_is_not_guessed(self) -> None:
        for files in (
            {},
            {path(f"{PROTOCOLS}.base"): "X = 1"},
            {**TABLES, path(f"{PROTOCOLS}.base"): "class RequestType:\n    STORE = number()\n"},
            {path(NUMBERS): "X = 1"},
            {path(NUMBERS): 'X = {"ping": 1}'},
        ):
            with self.subTest(files), self.assertRaises(Unreadable):
                requests(Package(Files(files)))


OLDER = {"STORE": Request(1, "[int]", "None"), "NOOP": Request(2, "[]", "str"), "CB_X": Request(3, "[]", "None")}


class Differences(unittest.TestCase):
    def test_what_counts(self) -> None:
        for newer, expected in (
            ({}, []),
            ({"STORE": Request(4, "[int]", "None")}, ["STORE is number 4, was 1"]),
            ({"STORE": Request(1, "[str]", "None")}, ["STORE carries [str], was [int]"]),
            ({"STORE": Request(1, "[int]", "bool")}, ["STORE is answered by bool, was None"]),
            ({"PING": Request(5, "[]", "bool")}, []),
            ({"PING": Request(None, "[]", "bool")}, []),
            # An old server would take the new request for another one, and the reverse.
            ({"PING": Request(2, "[]", "bool"), "NOOP": Request(6, "[]", "str")}, ["2 is PING, was NOOP"]),
            ({"CB_X": Request(9, "[int]", "None")}, []),
        ):
            with self.subTest(newer):
                self.assertEqual(differences(OLDER, {**OLDER, **newer}, ("CB_", "NOOP")), expected)

    def test_a_request_that_is_gone(self) -> None:
        newer = {"CB_X": Request(1, "[]", "None"), "NOOP": OLDER["NOOP"]}
        self.assertEqual(differences(OLDER, newer, ("CB_", "NOOP")), ["1 is CB_X, was STORE"])

    def test_a_handle_that_is_pickled_knows_where_its_class_is(self) -> None:
        moved = dict(TABLES)
        moved[path("lmcache.v1.platform.cuda.ipc_wrapper")] = "class CudaIPCWrapper: ...\n"
        moved[path("lmcache.v1.multiprocess.custom_types")] = TYPES.replace("CudaIPCWrapper", "Another")
        found = differences(requests(Package(Files(TABLES))), requests(Package(Files(moved))), ())
        self.assertEqual(len(found), 1)
        self.assertIn("<pickle of lmcache.v1.platform.cuda.ipc_wrapper.CudaIPCWrapper>", found[0])


if __name__ == "__main__":
    unittest.main()
