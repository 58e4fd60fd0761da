"""What keeps the start and the end of a command short: records and patterns made when they are first used.

Python's own ``dataclass`` compiles five to seven methods for every record when its module is imported. A
command imports two hundred records and makes a few dozen of them, so that a quarter of its start went there.
The :func:`dataclass` of this module takes the same options and gives the same records: ``__init__`` is
compiled when the first record is made, and the other methods need no compiling. What is out of the ordinary
(records that inherit from records, ``order``, ``InitVar``) is left to Python's own. :func:`late_pattern`
does the same for regular expressions that take a millisecond or more to compile, and :func:`late_module` for
libraries. :func:`collect_seldom` keeps Python from looking for garbage where there is hardly any.
"""

from __future__ import annotations

import atexit
import dataclasses
import gc
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, field, fields, replace
from functools import partial
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

__all__ = [
    "asdict",
    "collect_seldom",
    "dataclass",
    "field",
    "fields",
    "late_module",
    "late_pattern",
    "replace",
]

_COMPILED = tuple(EXTENSION_SUFFIXES)
_OPTIONS = frozenset({"frozen", "slots", "kw_only", "eq", "repr"})
_MADE = frozenset({"__init__", "__setattr__", "__delattr__", "__getstate__", "__setstate__"})
_Fields = Sequence["dataclasses.Field[Any]"]


class _Factory:
    """Stands in signatures for what is made anew for each record."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _dataclass(cls: type | None = None, /, **options: bool) -> Any:
    """Make a record of a class, as ``dataclasses.dataclass`` does."""
    if cls is None:
        return lambda given: _dataclass(given, **options)
    if not options.keys() <= _OPTIONS or not _is_ordinary(cls):
        return dataclasses.dataclass(**options)(cls)
    own, is_frozen = frozenset(vars(cls)), options.get("frozen", False)
    layout = {name: options[name] for name in ("slots", "kw_only") if name in options}
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **layout)(cls)
    told, its = made.__dataclass_params__, fields(made)
    told.init, told.repr, told.eq = True, options.get("repr", True), options.get("eq", True)
    told.frozen = is_frozen
    made.__init__ = _LateInit(made, its, is_frozen=is_frozen, has_slots=options.get("slots", False))
    if told.repr and "__repr__" not in own:
        made.__repr__ = _representation([each.name for each in its if each.repr])
    if told.eq:
        _compare(made, its, own, is_frozen=is_frozen)
    if is_frozen:
        _freeze(made, frozenset(each.name for each in its))
    if is_frozen and options.get("slots", False):
        _send(made, [each.name for each in its])
    return made


def _is_ordinary(cls: type) -> bool:
    """Tell whether a class is a record by itself, and defines nothing of what would be made for it."""
    inherits = any(hasattr(base, "__dataclass_fields__") for base in cls.__mro__[1:])
    has_init_only = any("InitVar" in str(kind) for kind in vars(cls).get("__annotations__", {}).values())
    return not inherits and not has_init_only and _MADE.isdisjoint(vars(cls))


class _LateInit:
    """Takes the place of ``__init__`` until somebody asks for it, to call it or to look at it."""

    def __init__(self, cls: Any, its: _Fields, *, is_frozen: bool, has_slots: bool) -> None:
        self._cls, self._fields, self._is_frozen, self._has_slots = cls, its, is_frozen, has_slots

    def __get__(self, record: object, owner: type | None = None) -> Any:
        made: Any = vars(self._cls)["__init__"]
        if not isinstance(made, FunctionType):
            made = self._cls.__init__ = self._compiled()
        return made.__get__(record, owner)

    def _compiled(self) -> FunctionType:
        given = [each for each in self._fields if each.init]
        signature = ["self", *(_parameter(each) for each in given if not each.kw_only)]
        if any(each.kw_only for each in given):
            signature += ["*", *(_parameter(each) for each in given if each.kw_only)]
        lines = [line for each in self._fields if (line := self._assignment(each))]
        lines += ["self.__post_init__()"] if hasattr(self._cls, "__post_init__") else []
        known: dict[str, Any] = {"_set": object.__setattr__, "_FACTORY": _FACTORY}
        for each in self._fields:
            known |= {f"_default_{each.name}": each.default, f"_make_{each.name}": each.default_factory}
            if self._has_slots:  # set by its own slot, a field takes half the time
                known[f"_set_{each.name}"] = vars(self._cls)[each.name].__set__
        source = f"def made({', '.join(known)}):\n def __init__({', '.join(signature)}):\n  "
        source += "\n  ".join(lines or ["pass"]) + "\n return __init__"
        found: dict[str, Any] = {}
        module = sys.modules.get(self._cls.__module__)
        exec(source, {} if module is None else vars(module), found)  # noqa: S102 - of names of fields alone
        made: FunctionType = found["made"](**known)
        made.__qualname__ = f"{self._cls.__qualname__}.__init__"
        made.__annotations__ = {**{each.name: each.type for each in given}, "return": None}
        return made

    def _assignment(self, each: dataclasses.Field[Any]) -> str:
        name, value = each.name, each.name
        if each.default_factory is not dataclasses.MISSING:
            value = f"_make_{name}()" + (f" if {name} is _FACTORY else {name}" if each.init else "")
        elif not each.init:
            if each.default is dataclasses.MISSING or not self._has_slots:
                return ""
            value = f"_default_{name}"
        if not self._is_frozen:
            return f"self.{name} = {value}"
        return f"_set_{name}(self, {value})" if self._has_slots else f"_set(self, {name!r}, {value})"


def _parameter(each: dataclasses.Field[Any]) -> str:
    if each.default_factory is not dataclasses.MISSING:
        return f"{each.name}=_FACTORY"
    return each.name if each.default is dataclasses.MISSING else f"{each.name}=_default_{each.name}"


def _representation(names: Sequence[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def representation(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({values})"

    return representation


def _values_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _compare(made: Any, its: _Fields, own: frozenset[str], *, is_frozen: bool) -> None:
    """Add ``__eq__`` and the hash that goes with it, where the class has none of its own."""
    compared = _values_of([each.name for each in its if each.compare])
    hashed = [each.name for each in its if (each.compare if each.hash is None else each.hash)]
    values = _values_of(hashed)

    def equals(self: Any, other: Any) -> Any:
        if other.__class__ is self.__class__:
            return compared(self) == compared(other)
        return NotImplemented

    has_hash = "__hash__" in own and not (vars(made)["__hash__"] is None and "__eq__" in own)
    if "__eq__" not in own:
        made.__eq__ = equals
    if not has_hash:
        made.__hash__ = (lambda self: hash(values(self))) if is_frozen else None


def _freeze(made: Any, names: frozenset[str]) -> None:
    def set_nothing(self: Any, name: str, value: Any) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def delete_nothing(self: Any, name: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    made.__setattr__, made.__delattr__ = set_nothing, delete_nothing


def _send(made: Any, names: Sequence[str]) -> None:
    """Let records be sent to other processes though nothing can be assigned to them."""
    state, setters = _values_of(names), [vars(made)[name].__set__ for name in names]

    def restore(self: Any, values: Sequence[Any]) -> None:
        for set_field, value in zip(setters, values, strict=True):
            set_field(self, value)

    made.__getstate__, made.__setstate__ = (lambda self: state(self)), restore


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass


def collect_seldom() -> None:
    """Look for garbage in circles seldom, and not at the end: of texts, which come and go, none is left."""
    gc.set_threshold(100_000, 20, 20)
    atexit.register(_leave_as_it_is)


def _leave_as_it_is() -> None:
    """Have nothing looked for at the end, unless a library made with nanobind is there: it counts leaks."""
    loaded = (
        each for each in [*sys.modules.values()] if str(getattr(each, "__file__", "")).endswith(_COMPILED)
    )
    held = (value for each in loaded for value in [*getattr(each, "__dict__", {}).values()])
    if not any(type(value).__module__ == "nanobind" for value in held):
        gc.freeze()


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used."""
    return cast("re.Pattern[str]", _Late(partial(re.compile, pattern, flags)))


def late_module(name: str) -> Any:
    """Return a module that is imported when something in it is first used."""
    return _Late(partial(import_module, name))


class _Late:
    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        """Find what is asked for; the next time it is found without asking here."""
        found = self.__dict__[name] = getattr(self._make(), name)
        return found
