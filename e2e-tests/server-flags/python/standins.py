"""Stand-ins for the third-party packages that lmcache imports and that its argument checks never use.

`install()` puts a finder at the end of `sys.meta_path`. It answers only for the packages in `PACKAGES` and for the
compiled modules of the wheel, so a package that is not named here is missing, exactly as in an image without it.

A stand-in may be imported, named, subclassed, subscripted, called and used as a decorator: that is what code does with
a package while it is being loaded. As soon as one would take part in a decision (truth, order, length, arithmetic,
iteration) it raises `Leak`, which no `except Exception` stops: an outcome that a stand-in decided is worth nothing.
"""

import importlib.machinery
import inspect
import sys
import types
from abc import ABCMeta
from collections.abc import Iterable
from typing import Any, NoReturn

# Import names of what the wheels declare as dependencies (`Requires-Dist`, extras included), of `openai` and
# `packaging`, which lmcache imports without declaring them, and of what those bring along (pydantic, starlette).
PACKAGES = frozenset(
    """
    aiofile aiofiles aiohttp awscrt blake3 cachetools confluent_kafka cpuinfo cryptography cuda cufile cupy fastapi
    google grpc grpc_observability httptools httpx huggingface_hub msgspec nixl numba numpy nvtx openai opentelemetry
    packaging prometheus_client psutil pydantic redis requests safetensors setuptools sortedcontainers starlette torch
    transformers uvicorn yaml zmq
    """.split()
)


class Leak(BaseException):
    """A stand-in was asked for a value that only the real package can give."""


leaks: list[Leak] = []
"""Every leak so far, also those that somebody caught."""


# Every question whose answer could steer a check.
_QUESTIONS = (
    "__bool__ __len__ __iter__ __next__ __contains__ __int__ __float__ __index__ __complex__ __lt__ __le__ __gt__"
    " __ge__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__"
    " __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __neg__ __pos__ __abs__ __and__ __rand__ __xor__ __rxor__"
    " __invert__ __lshift__ __rshift__ __round__ __bytes__ __fspath__"
).split()


def _leak(self: object, *_: object, **__: object) -> NoReturn:
    name = self.__qualname__ if isinstance(self, type) else type(self).__qualname__
    caller = sys._getframe(1)
    leak = Leak(f"{name} was asked for a value by {caller.f_code.co_filename}:{caller.f_lineno}")
    leaks.append(leak)
    raise leak


def _is_decorated(args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
    return len(args) == 1 and not kwargs and (inspect.isfunction(args[0]) or inspect.isclass(args[0]))


class StandInType(ABCMeta):
    """The type of stand-in classes. Each attribute of one is another, made when first asked for and then kept."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **_: object) -> "StandInType":
        return super().__new__(mcs, name, bases, body)

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **_: object) -> None:
        super().__init__(name, bases, body)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = make(f"{cls.__qualname__}.{name}")
        setattr(cls, name, made)
        return made

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        # `@numba.njit` hands the function back; a class of lmcache that derives from a stand-in is made as usual.
        if "_made_here" in cls.__dict__ and _is_decorated(args, kwargs):
            return args[0]
        return super().__call__(*args, **kwargs)

    def __getitem__(cls, _: object) -> "StandInType":
        return cls


class StandIn(metaclass=StandInType):
    """An object of a stand-in class: is made from any arguments, and its attributes are those of its class."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(type(self), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if _is_decorated(args, kwargs) else make(f"{type(self).__qualname__}()")()

    def __getitem__(self, _: object) -> "StandIn":
        return self

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_: object) -> None:
        pass


for _name in _QUESTIONS:
    setattr(StandIn, _name, _leak)
    setattr(StandInType, _name, _leak)


def make(qualified_name: str) -> StandInType:
    """A new stand-in class. `qualified_name` is the dotted name by which it was asked for."""
    return StandInType(qualified_name, (StandIn,), {"_made_here": True, "__module__": "standins"})


class _Module(types.ModuleType):
    """A module whose attributes are stand-ins, but for those that `known` has a value for."""

    def __init__(self, name: str, known: dict[str, Any]) -> None:
        super().__init__(name)
        self._known = {path.removeprefix(f"{name}."): v for path, v in known.items() if path.startswith(f"{name}.")}
        for path, value in self._known.items():
            *owners, last = path.split(".")
            owner: Any = self
            for step in owners:
                owner = getattr(owner, step)
            setattr(owner, last, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = make(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made


class _Finder:
    def __init__(self, compiled: frozenset[str], known: dict[str, Any]) -> None:
        self.compiled = compiled
        self.known = known

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> Any:
        if name.partition(".")[0] in PACKAGES or name in self.compiled:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name, self.known)

    def exec_module(self, _: types.ModuleType) -> None:
        pass


def install(compiled: Iterable[str], known: dict[str, Any]) -> None:
    """Answers imports of `PACKAGES` and of `compiled` (dotted names of the wheel's extension modules).

    `known` maps dotted names to the plain values that they have instead of a stand-in.
    """
    sys.meta_path.append(_Finder(frozenset(compiled), known))
