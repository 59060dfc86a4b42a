"""Which releases of LMCache understand each other: reads the requests between client and server.

Client and server exchange no version. A request is a number, the position of its name in a list, and its payloads in
order, so both sides must agree on the number, the payloads and the answer of every request that an engine sends.
`requests` reads them from one release; `differences` names what two releases disagree about.

Up to 0.5.5 the numbers are the positions in an enum (`RequestType`) and the payloads stand in tables; from 0.5.6 on the
numbers are a frozen table, and the payloads are the parameters of the methods of `RequestClient`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .clients_load import Package

PROTOCOLS = "lmcache.v1.multiprocess.protocols"
NUMBERS = "lmcache.v1.multiprocess.transport.zmq_impl.wire"
METHODS = "lmcache.v1.multiprocess.transport.base"
# The class of a handle of CUDA memory, in which KV caches are registered by default.
HANDLE = "CudaIPCWrapper"
# How deep classes of payloads may hold classes of payloads.
MAX_DEPTH = 8


class Unreadable(Exception):
    """The requests of a release stand somewhere else, or are written in another way, than in all releases before."""


@dataclass(frozen=True)
class Request:
    """What travels for one request. Texts, to be compared."""

    number: int | None  # None: it travels by name
    payload: str
    answer: str


def requests(package: Package) -> dict[str, Request]:
    """The requests of one release, names in capitals."""
    numbers = package.statements(NUMBERS)
    if numbers is not None:
        return _from_methods(package, _number_table(numbers))
    base = package.statements(f"{PROTOCOLS}.base")
    if base is None:
        raise Unreadable(f"neither {NUMBERS} nor {PROTOCOLS}.base is there")
    return _from_tables(package, base)


def differences(older: dict[str, Request], newer: dict[str, Request], not_sent: tuple[str, ...]) -> list[str]:
    """What two releases disagree about, a line each; `not_sent`: beginnings of the names of requests that vLLM's workers
    and scheduler never send. A request that only one of them has counts where its number is another one to the other."""
    lines = []
    for name in sorted(older.keys() | newer.keys()):
        if name.startswith(not_sent):
            continue
        before, after = older.get(name), newer.get(name)
        if after is None or before is None:
            # The other release may have given its number to another request.
            if before is not None and (other := _numbered(newer, before.number)) is not None:
                lines.append(f"{before.number} is {other}, was {name}")
            if after is not None and (other := _numbered(older, after.number)) is not None:
                lines.append(f"{after.number} is {name}, was {other}")
            continue
        if before.number != after.number:
            lines.append(f"{name} is number {after.number}, was {before.number}")
        if before.payload != after.payload:
            lines.append(f"{name} carries {after.payload}, was {before.payload}")
        if before.answer != after.answer:
            lines.append(f"{name} is answered by {after.answer}, was {before.answer}")
    return list(dict.fromkeys(lines))


def _numbered(known: dict[str, Request], number: int | None) -> str | None:
    return next((name for name, request in known.items() if number is not None and request.number == number), None)


def _from_tables(package: Package, base: list[ast.stmt]) -> dict[str, Request]:
    enum = next((node for node in base if isinstance(node, ast.ClassDef) and node.name == "RequestType"), None)
    if enum is None:
        raise Unreadable(f"{PROTOCOLS}.base has no RequestType")
    numbers: dict[str, int] = {}
    for statement in enum.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="auto"))):
                numbers[name] = max(numbers.values(), default=0) + 1
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(number))):
                numbers[name] = number
            case ast.Assign(value=ast.Name()) | ast.Expr():
                pass  # another name of a member, or the text that describes the enum
            case _:
                raise Unreadable(f"RequestType holds {ast.unparse(statement)}")
    found = {}
    for module in package.below(PROTOCOLS):
        for node in ast.walk(ast.Module(package.statements(module) or [], [])):
            if not isinstance(node, ast.Dict):
                continue
            for key, value in zip(node.keys, node.values):
                match key, value:
                    case ast.Constant(value=str(name)), ast.Call(func=ast.Name(id="ProtocolDefinition")):
                        parts = {keyword.arg: keyword.value for keyword in value.keywords}
                        payload = _shape(parts["payload_classes"], module, package)
                        answer = _shape(parts["response_class"], module, package)
                        found[name] = Request(numbers.get(name), payload, answer)
    if not found:
        raise Unreadable(f"no ProtocolDefinition below {PROTOCOLS}")
    return found


def _number_table(statements: list[ast.stmt]) -> dict[str, int]:
    for node in ast.walk(ast.Module(statements, [])):
        if not isinstance(node, ast.Dict):
            continue
        found = {}
        for key, value in zip(node.keys, node.values):
            match key, value:
                case ast.Constant(value=str(name)), ast.Constant(value=int(number)):
                    found[name] = number
        if found and len(found) == len(node.keys):
            return found
    raise Unreadable(f"{NUMBERS} has no table of numbers")


def _from_methods(package: Package, numbers: dict[str, int]) -> dict[str, Request]:
    client = next(
        (
            node
            for node in package.statements(METHODS) or []
            if isinstance(node, ast.ClassDef) and node.name == "RequestClient"
        ),
        None,
    )
    if client is None:
        raise Unreadable(f"{METHODS} has no RequestClient")
    found = {}
    for method in client.body:
        if not isinstance(method, ast.FunctionDef) or not any(
            isinstance(decorator, ast.Name) and decorator.id == "rpc_method" for decorator in method.decorator_list
        ):
            continue
        parameters = [*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs][1:]
        payload = [_shape(parameter.annotation, METHODS, package) for parameter in parameters]
        match method.returns:
            case ast.Subscript(slice=answer):
                found[method.name.upper()] = Request(
                    numbers.get(method.name), f"[{', '.join(payload)}]", _shape(answer, METHODS, package)
                )
            case _:
                raise Unreadable(f"RequestClient.{method.name} does not say what it returns")
    return found


def _shape(annotation: ast.expr | None, module: str, package: Package, depth: int = 0) -> str:
    """A type as a text without names of classes: what a class holds stands in its place."""
    match annotation:
        case None:
            raise Unreadable(f"{module}: a payload without a type")
        case ast.Constant(value=str(text)):
            return _shape(ast.parse(text, mode="eval").body, module, package, depth)
        case ast.List() | ast.Tuple():
            return f"[{_shapes(annotation, module, package, depth)}]"
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{_shape(left, module, package, depth)} | {_shape(right, module, package, depth)}"
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return f"{_shape(inner, module, package, depth)} | None"
        case ast.Subscript(value=value, slice=inner):
            return f"{ast.unparse(value)}[{_shapes(inner, module, package, depth)}]"
        case ast.Name(id=name) if depth < MAX_DEPTH:
            return _named(name, module, package, depth + 1)
    return ast.unparse(annotation)


def _shapes(list_of: ast.expr, module: str, package: Package, depth: int) -> str:
    elements = list_of.elts if isinstance(list_of, ast.List | ast.Tuple) else [list_of]
    return ", ".join(_shape(element, module, package, depth) for element in elements)


def _named(name: str, module: str, package: Package, depth: int) -> str:
    """What a name of a module stands for; the name itself where that is somebody else's."""
    source, found = package.definition(module, name)
    match found:
        case ast.Assign(value=value):
            return _shape(value, source, package, depth)
        case ast.ClassDef():
            return _class(found, source, package, depth)
    return name


def _class(found: ast.ClassDef, module: str, package: Package, depth: int) -> str:
    """The fields of a class that are always there: those with a default, and those of a `TypedDict`, may be absent."""
    for method in found.body:
        if isinstance(method, ast.FunctionDef) and method.name == "Serialize":
            # A handle of device memory. Pickle sends the module in which its class stands, wherever that is moved.
            pickled = any(isinstance(node, ast.Name) and node.id == "pickle" for node in ast.walk(method))
            return f"<pickle of {_home_of_handles(package)}>" if pickled else "<data of a handle>"
    if any(keyword.arg == "total" for keyword in found.keywords):
        return "{}"
    fields = [field for field in found.body if isinstance(field, ast.AnnAssign)]
    if not fields:
        return found.name
    always = [
        f"{ast.unparse(field.target)}: {_shape(field.annotation, module, package, depth)}"
        for field in fields
        if field.value is None
    ]
    return f"{{{', '.join(always)}}}"


def _home_of_handles(package: Package) -> str:
    for module in [*package.below("lmcache.v1.multiprocess"), *package.below("lmcache.v1.platform")]:
        # Not every module is worth a request: it is where types of the protocol, or of one platform's handles, are.
        if module.endswith(("custom_types", "ipc_wrapper")):
            for statement in package.statements(module) or []:
                if isinstance(statement, ast.ClassDef) and statement.name == HANDLE:
                    return f"{module}.{HANDLE}"
    raise Unreadable(f"no {HANDLE}, the handle of CUDA memory")
