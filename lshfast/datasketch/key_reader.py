"""A reader of pickled keys that runs no code and whose work is bounded by the length of the bytes.

A pickle is a program for a stack machine. `read_key` first runs it on descriptions: `Tuple`, `Call`
and so on, which count the values that they contain, so that a few bytes cannot describe a very
large key. It then makes the key of these descriptions.
"""

from __future__ import annotations

import datetime
import re
import struct
import sys
import uuid
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from lshfast._common.errors import FormatError

# What a key may consist of. A tuple that contains another one twice counts its values twice.
MOST_VALUES = 1024
MOST_DEPTH = 100
MOST_DIGITS = 4300  # of an integer or decimal: Python's own limit for integers as text
MOST_INTEGER_BYTES = 1786  # of an integer of MOST_DIGITS digits
MOST_STEPS = 16 * MOST_VALUES  # a numpy scalar, the longest value, takes fewer
SHOWN_BYTES = 60  # of a key in a message

NOT_READ = (
    'which is not read from a server; storage_config may say "loads": pickle.loads '
    "where the server is trusted"
)


# ---- descriptions ----


class Description:
    """A value that is described but not created: its members, their number and depth."""

    __slots__ = ("depth", "members", "value", "values")

    members: tuple[Any, ...]
    values: int
    depth: int
    value: Hashable

    def __init__(self, members: tuple[Any, ...]) -> None:
        values = 1
        depth = 1
        for member in members:
            if isinstance(member, Description):
                values += member.values
                depth = max(depth, member.depth + 1)
            else:
                values += 1
        if values > MOST_VALUES:
            raise ValueError(f"it has more than {MOST_VALUES} values")
        if depth > MOST_DEPTH:
            raise ValueError(f"it is nested more than {MOST_DEPTH} levels deep")
        self.members = members
        self.values = values
        self.depth = depth

    def make(self) -> Hashable:
        """Return the value: one object each time, so that the key has the same pickle again."""
        if not hasattr(self, "value"):
            self.value = self.make_value()
        return self.value

    def make_value(self) -> Hashable:
        raise ValueError(
            f"it has a {type(self).__name__.lower()}, and a key consists of values that do not "
            "change"
        )


class Tuple(Description):
    """A tuple."""

    __slots__ = ()

    def make_value(self) -> Hashable:
        return tuple(map(value_of, self.members))


class Frozenset(Description):
    """A frozenset."""

    __slots__ = ()

    def make_value(self) -> Hashable:
        return frozenset(map(value_of, self.members))


class List(Description):
    """A list, which occurs as the argument of `frozenset`."""

    __slots__ = ()


class Dict(Description):
    """A dict, which occurs as the state of a UUID: its keys and values in turn."""

    __slots__ = ()


class Name(Description):
    """The name of a class or function."""

    __slots__ = ("kind",)

    def __init__(self, module: str, name: str) -> None:
        super().__init__(())
        if (module, name) not in KINDS:
            raise ValueError(f"it is a {module[:100]}.{name[:100]}, {NOT_READ}")
        self.kind = (module, name)

    def make_value(self) -> Hashable:
        raise ValueError(f"it is a class, a function or a dtype, {NOT_READ}")


class Call(Description):
    """A call of a class or function, and the state that is set afterwards."""

    __slots__ = ("kind", "state")

    def __init__(self, name: Any, arguments: Any) -> None:
        if not isinstance(name, Name) or not isinstance(arguments, Tuple):
            raise ValueError(
                "it calls what is not a known type, or with arguments that are not a tuple"
            )
        super().__init__(arguments.members)
        self.kind = name.kind
        self.state: Any = None

    def make_value(self) -> Hashable:
        value: Hashable = KINDS[self.kind](self)
        return value


def value_of(member: Any) -> Any:
    """Return the value of a description; other objects are values."""
    return member.make() if isinstance(member, Description) else member


# ---- the known types ----


def make_frozenset(call: Call) -> Hashable:
    if not call.members:
        return frozenset()
    if len(call.members) != 1 or not isinstance(call.members[0], (List, Tuple)):
        raise ValueError("it is a frozenset, but not of a list or tuple")
    return frozenset(map(value_of, call.members[0].members))


def plain_arguments(call: Call) -> tuple[Any, ...]:
    """Return the arguments of a call: plain values, or dates, times and their zones."""
    if call.state is not None:
        raise ValueError("it sets the state of a value that has none")
    for member in call.members:
        if isinstance(member, Description) and not (
            isinstance(member, Call) and member.kind[0] == "datetime"
        ):
            raise ValueError(
                f"it is a {call.kind[1]} of arguments that are not plain values"
            )
    return tuple(map(value_of, call.members))


def make_plainly(make: Callable[..., Any], call: Call) -> Any:
    """Return the value of a call of a function that takes plain arguments."""
    return make(*plain_arguments(call))


def make_moment(kind: type[Any], call: Call) -> Any:
    """Return a date or time. Its bytes may be out of range, so `replace` checks the ranges."""
    return kind(*plain_arguments(call)).replace()


def make_decimal(call: Call) -> Decimal:
    arguments = plain_arguments(call)
    if any(
        isinstance(argument, str) and len(argument) > MOST_DIGITS
        for argument in arguments
    ):
        raise ValueError(f"it is a number of more than {MOST_DIGITS} digits")
    return Decimal(*arguments)


def make_fraction(call: Call) -> Fraction:
    """Return a fraction of two integers or their texts; other texts may stand for huge numbers."""
    first, second = (*call.members, 1, 1)[:2]
    if (
        isinstance(first, str)
        and len(call.members) == 1
        and re.fullmatch("-?[0-9]+(?:/[0-9]+)?", first)
    ):
        numerator, _, denominator = first.partition("/")
        first = decimal_integer(numerator)
        second = decimal_integer(denominator or "1")
    if type(first) is not int or type(second) is not int:
        raise ValueError("it is a fraction, but not of two ints")
    if second == 0:
        raise ValueError("it is a fraction whose denominator is 0")
    return Fraction(first, second)


def make_uuid(call: Call) -> uuid.UUID:
    """Return a UUID, which a pickle makes without a number and then sets."""
    state = call.state
    if call.members or not isinstance(state, Dict):
        raise ValueError("it is a UUID without a number")
    attributes = dict(zip(state.members[::2], state.members[1::2], strict=True))
    number = attributes.pop("int", None)
    safety = attributes.pop("is_safe", None)
    if attributes or type(number) is not int:
        raise ValueError(
            "it is a UUID without a number, or with a state that UUIDs do not have"
        )
    return uuid.UUID(int=number, is_safe=uuid.SafeUUID(safety))


def make_dtype(call: Call) -> Hashable:
    raise ValueError(f"it is a class, a function or a dtype, {NOT_READ}")


def dtype_of(description: Any) -> tuple[str, int, Literal["<", ">", "|", "="]]:
    """Return the kind, bytes and byte order of the dtype of a numpy scalar."""
    if (
        not isinstance(description, Call)
        or description.kind != ("numpy", "dtype")
        or not description.members
    ):
        raise ValueError("it is a numpy scalar whose bytes do not fit its dtype")
    name = description.members[0]
    if not isinstance(name, str) or not re.fullmatch(
        "b1|[iu][1248]|f[248]|c(?:8|16)|[SU][0-9]{1,9}", name
    ):
        raise ValueError(f"it is a numpy scalar of dtype {name!r:.40}, {NOT_READ}")
    size = int(name[1:]) * (4 if name[0] == "U" else 1)
    if description.state is None:
        return name[0], size, "="
    state = description.state.members if isinstance(description.state, Tuple) else ()
    if (
        len(state) != 8
        or state[2:5] != (None, None, None)
        or state[1] not in ("<", ">", "|", "=")
    ):
        raise ValueError(
            f"it is a numpy scalar of a dtype of several parts, {NOT_READ}"
        )
    return name[0], size, state[1]


def make_scalar(call: Call) -> Any:
    if len(call.members) != 2:
        raise ValueError("it is a numpy scalar whose bytes do not fit its dtype")
    kind, size, order = dtype_of(call.members[0])
    data = call.members[1]
    if type(data) is not bytes or len(data) != size:
        raise ValueError("it is a numpy scalar whose bytes do not fit its dtype")
    if kind == "S":
        return np.bytes_(data.rstrip(b"\0"))
    if kind == "U":
        big = order == ">" or (order != "<" and sys.byteorder == "big")
        return np.str_(
            data.decode("utf-32-be" if big else "utf-32-le", "surrogatepass").rstrip(
                "\0"
            )
        )
    return np.frombuffer(data, np.dtype(f"{kind}{size}").newbyteorder(order))[0]


# The types of keys on a server, besides those with pickle opcodes, and the functions that make
# them.
KINDS: dict[tuple[str, str], Callable[[Call], Any]] = {
    ("builtins", "complex"): partial(make_plainly, complex),
    ("builtins", "frozenset"): make_frozenset,
    ("datetime", "date"): partial(make_moment, datetime.date),
    ("datetime", "datetime"): partial(make_moment, datetime.datetime),
    ("datetime", "time"): partial(make_moment, datetime.time),
    ("datetime", "timedelta"): partial(make_plainly, datetime.timedelta),
    ("datetime", "timezone"): partial(make_plainly, datetime.timezone),
    ("decimal", "Decimal"): make_decimal,
    ("fractions", "Fraction"): make_fraction,
    ("numpy", "dtype"): make_dtype,
    ("numpy._core.multiarray", "scalar"): make_scalar,
    ("numpy.core.multiarray", "scalar"): make_scalar,
    ("uuid", "UUID"): make_uuid,
}


# ---- opcodes ----


class Machine:
    """The stack machine of pickles, on descriptions."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        """Return the described key."""
        for _ in range(MOST_STEPS):
            opcode = self.take(1)
            if opcode == b".":
                return self.finished()
            if opcode not in STEPS:
                raise ValueError(f"it has the opcode {opcode!r}, which no key needs")
            STEPS[opcode](self)
        raise ValueError(f"it takes more than {MOST_STEPS} steps")

    def finished(self) -> Any:
        if len(self.stack) != 1 or self.marks or self.at != len(self.data):
            raise ValueError("it is not one value")
        return self.stack[0]

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        end = self.at + size
        if end > len(self.data):
            raise ValueError(f"it ends within a value of {size} bytes")
        part = self.data[self.at : end]
        self.at = end
        return part

    def skip_protocol(self) -> None:
        self.take(1)

    def check_frame(self) -> None:
        size = self.take_number(8)
        if size > len(self.data) - self.at:
            raise ValueError(f"it ends within a frame of {size} bytes")

    def take_number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def take_sized(self, width: int) -> bytes:
        """Return bytes that follow their number."""
        return self.take(self.take_number(width))

    def take_line(self) -> bytes:
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise ValueError("it ends within a line")
        line = self.data[self.at : end]
        self.at = end + 1
        return line

    def pop(self) -> Any:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise ValueError("it takes a value that it has not made")
        return self.stack.pop()

    def pop_many(self, count: int) -> tuple[Any, ...]:
        return tuple([self.pop() for _ in range(count)][::-1])

    def pop_to_mark(self) -> tuple[Any, ...]:
        if not self.marks:
            raise ValueError("it takes values from a mark that it has not set")
        start = self.marks.pop()
        members = tuple(self.stack[start:])
        del self.stack[start:]
        return members

    def push_memo(self, index: int) -> None:
        if index not in self.memo:
            raise ValueError(f"it takes value {index}, which it has not stored")
        self.stack.append(self.memo[index])

    def store(self, index: int) -> None:
        if index >= MOST_STEPS:
            raise ValueError(
                f"it stores a value at place {index}, and a key has fewer than {MOST_STEPS}"
            )
        top = self.pop()
        self.memo[index] = top
        self.stack.append(top)

    def extend(self, members: tuple[Any, ...]) -> None:
        """Append to a list or dict; memo entries that refer to it do not change."""
        target = self.pop()
        if type(target) not in (List, Dict) or (
            type(target) is Dict and len(members) % 2
        ):
            raise ValueError("it appends to a value that is not a list or dict")
        self.stack.append(type(target)(target.members + members))

    def build(self) -> None:
        state = self.pop()
        target = self.pop()
        if not isinstance(target, Call) or target.state is not None:
            raise ValueError(
                "it changes a value that has no state, or changes it twice"
            )
        target.state = state
        self.stack.append(target)

    def call(self) -> None:
        name, arguments = self.pop_many(2)
        self.stack.append(Call(name, arguments))

    def name_on_stack(self) -> None:
        module, name = self.pop_many(2)
        if not isinstance(module, str) or not isinstance(name, str):
            raise ValueError("it names a type by values that are not text")
        self.stack.append(Name(module, name))


def decimal_integer(text: str) -> int:
    """Return an integer from decimal digits."""
    if len(text.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"it has an integer of more than {MOST_DIGITS} digits")
    return int(text)


def binary_integer(data: bytes) -> int:
    """Return an integer from its bytes in two's complement, the lowest first."""
    if len(data) > MOST_INTEGER_BYTES:
        raise ValueError(f"it has an integer of more than {MOST_DIGITS} digits")
    return int.from_bytes(data, "little", signed=True)


def integer_of_line(line: bytes) -> int | bool:
    if line in (b"00", b"01"):
        return line == b"01"
    text = line.decode("ascii").removesuffix("L")
    if not re.fullmatch("-?[0-9]+", text):
        raise ValueError(f"it has the integer {text!r:.40}, which is not decimal")
    return decimal_integer(text)


def float_of_line(line: bytes) -> float:
    if len(line) > 40:  # repr of a float has at most 24 characters
        raise ValueError("it has a float of more than 40 characters")
    return float(line)


def text_of_quoted(line: bytes) -> str:
    """Return an ASCII text as Python 2 wrote it, with the escapes that it wrote."""
    if not re.fullmatch(rb"""(['"])(?:[^\\]|\\[\\'"nrt]|\\x[0-7][0-9a-f])*\1""", line):
        raise ValueError("it has a text without quotes, or with an unknown escape")
    return line[1:-1].decode("unicode-escape")


def utf8(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def big_endian_float(data: bytes) -> float:
    return float(struct.unpack(">d", data)[0])


Step = Callable[[Machine], None]


def push(value: Any) -> Step:
    return lambda machine: machine.stack.append(value)


def push_fixed(size: int, decode: Callable[[bytes], Any]) -> Step:
    """Return a step that pushes the value of `size` bytes."""
    return lambda machine: machine.stack.append(decode(machine.take(size)))


def push_sized(width: int, decode: Callable[[bytes], Any]) -> Step:
    """Return a step that pushes the value of bytes whose number is stored in `width` bytes."""
    return lambda machine: machine.stack.append(decode(machine.take_sized(width)))


def push_line(decode: Callable[[bytes], Any]) -> Step:
    return lambda machine: machine.stack.append(decode(machine.take_line()))


def push_members(kind: type[Description], count: int) -> Step:
    return lambda machine: machine.stack.append(kind(machine.pop_many(count)))


def push_marked(kind: type[Description]) -> Step:
    return lambda machine: machine.stack.append(kind(machine.pop_to_mark()))


def unsigned(data: bytes) -> int:
    return int.from_bytes(data, "little")


def ascii_text(data: bytes) -> str:
    return data.decode("ascii")


def raw_text(data: bytes) -> str:
    return data.decode("raw-unicode-escape")


# The opcodes with which pickle writes the known types, in all protocols.
STEPS: dict[bytes, Step] = {
    b"\x80": Machine.skip_protocol,
    b"\x95": Machine.check_frame,
    b"N": push(None),
    b"\x88": push(True),
    b"\x89": push(False),
    b"I": push_line(integer_of_line),
    b"L": push_line(integer_of_line),
    b"K": push_fixed(1, unsigned),
    b"M": push_fixed(2, unsigned),
    b"J": push_fixed(4, binary_integer),
    b"\x8a": push_sized(1, binary_integer),
    b"\x8b": push_sized(4, binary_integer),
    b"F": push_line(float_of_line),
    b"G": push_fixed(8, big_endian_float),
    b"V": push_line(raw_text),
    b"\x8c": push_sized(1, utf8),
    b"X": push_sized(4, utf8),
    b"\x8d": push_sized(8, utf8),
    b"S": push_line(text_of_quoted),
    b"U": push_sized(1, ascii_text),
    b"T": push_sized(4, ascii_text),
    b"C": push_sized(1, bytes),
    b"B": push_sized(4, bytes),
    b"\x8e": push_sized(8, bytes),
    b"(": lambda machine: machine.marks.append(len(machine.stack)),
    b")": push_members(Tuple, 0),
    b"\x85": push_members(Tuple, 1),
    b"\x86": push_members(Tuple, 2),
    b"\x87": push_members(Tuple, 3),
    b"t": push_marked(Tuple),
    b"\x91": push_marked(Frozenset),
    b"]": push_members(List, 0),
    b"l": push_marked(List),
    b"a": lambda machine: machine.extend(machine.pop_many(1)),
    b"e": lambda machine: machine.extend(machine.pop_to_mark()),
    b"}": push_members(Dict, 0),
    b"d": push_marked(Dict),
    b"s": lambda machine: machine.extend(machine.pop_many(2)),
    b"u": lambda machine: machine.extend(machine.pop_to_mark()),
    b"c": lambda machine: machine.stack.append(
        Name(utf8(machine.take_line()), utf8(machine.take_line()))
    ),
    b"\x93": Machine.name_on_stack,
    b"R": Machine.call,
    b"\x81": Machine.call,
    b"b": Machine.build,
    b"\x94": lambda machine: machine.store(len(machine.memo)),
    b"q": lambda machine: machine.store(machine.take_number(1)),
    b"r": lambda machine: machine.store(machine.take_number(4)),
    b"p": lambda machine: machine.store(int(integer_of_line(machine.take_line()))),
    b"h": lambda machine: machine.push_memo(machine.take_number(1)),
    b"j": lambda machine: machine.push_memo(machine.take_number(4)),
    b"g": lambda machine: machine.push_memo(int(integer_of_line(machine.take_line()))),
}


def shown(data: bytes) -> str:
    """Return bytes for a message: escaped, and only the first if there are many."""
    text = repr(data[:SHOWN_BYTES])
    return text if len(data) <= SHOWN_BYTES else f"{text}... ({len(data)} bytes)"


def text_alone(data: bytes) -> str | None:
    """Return the text of a pickle of one text of at most 255 bytes, by protocol 4 or 5; else None.

    Most keys are such texts. They are read in 0.5 microseconds, and by the machine in 3.6.
    """
    if (
        len(data) < 15
        or data[:1] != b"\x80"
        or data[2:3] != b"\x95"
        or data[11:12] != b"\x8c"
    ):
        return None
    if len(data) != 15 + data[12] or data[-2:] != b"\x94.":
        return None
    return utf8(data[13:-2])


def read_key(data: bytes) -> Any:
    """Return the key in a pickle.

    FormatError is raised if it is damaged, of another type, or larger than the bounds above.
    """
    try:
        text = text_alone(data)
        if text is not None:
            return text
        key = value_of(Machine(data).run())
        hash(key)
    except (ValueError, TypeError, ArithmeticError, LookupError) as error:
        raise FormatError(
            f"the stored key {shown(data)} is not read: {error}"
        ) from error
    return key
