"""Lines of JSON objects by RFC 8259, read slowly: which the scanner decides, and what it finds in them."""

import json
import re

DEPTH = 128
DIGITS = 640
BLANK = b" \t\n\v\f\r"
SPACE = re.compile(rb"[ \t\r]*")  # LF ends a line
STRING = re.compile(rb'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
LITERAL = re.compile(rb"true|false|null")


class Undecided(Exception):
    """The line is malformed, has no text, or holds what parsers treat in different ways."""


def scanned(data, text, keys):
    """Return a row for each line that is not blank: its line from 0, and (text, values) or None if it is undecided.

    A value is the bytes of its JSON; None if there is no such member.
    """
    rows = []
    for line, content in enumerate(data.split(b"\n")):
        if content.strip(BLANK):
            try:
                rows.append((line, decided(content, text, keys)))
            except Undecided:
                rows.append((line, None))
    return rows


def decided(line, text, keys):
    at = SPACE.match(line).end()
    if line[at : at + 1] != b"{":
        raise Undecided
    members = {}
    at = members_end(line, at, members, 0)
    if SPACE.match(line, at).end() != len(line) or text not in members:
        raise Undecided
    if members[text] != b"null" and not members[text].startswith(b'"'):
        raise Undecided
    return json.loads(members[text]) or "", [members.get(key) for key in keys]


def members_end(line, at, members, depth):
    """Read an object from its brace on and return its end; fill `members`, unless it is None, with raw values."""
    at = SPACE.match(line, at + 1).end()
    if line[at : at + 1] == b"}":
        return at + 1
    while True:
        name = string_end(line, at)
        if members is not None and b"\\" in line[at:name]:
            raise Undecided
        value = SPACE.match(
            line, expect(b":", line, SPACE.match(line, name).end())
        ).end()
        end = value_end(line, value, depth)
        if members is not None:
            members[line[at + 1 : name - 1]] = line[value:end]
        at = SPACE.match(line, end).end()
        if line[at : at + 1] == b"}":
            return at + 1
        at = SPACE.match(line, expect(b",", line, at)).end()


def elements_end(line, at, depth):
    at = SPACE.match(line, at + 1).end()
    if line[at : at + 1] == b"]":
        return at + 1
    while True:
        at = SPACE.match(line, value_end(line, at, depth)).end()
        if line[at : at + 1] == b"]":
            return at + 1
        at = SPACE.match(line, expect(b",", line, at)).end()


def value_end(line, at, depth):
    if line[at : at + 1] in (b"{", b"["):
        if depth == DEPTH:
            raise Undecided
        return (
            members_end(line, at, None, depth + 1)
            if line[at] == ord("{")
            else elements_end(line, at, depth + 1)
        )
    if line[at : at + 1] == b'"':
        return string_end(line, at)
    found = NUMBER.match(line, at) or LITERAL.match(line, at)
    if not found or len(found[0]) > DIGITS:
        raise Undecided
    return found.end()


def string_end(line, at):
    found = STRING.match(line, at)
    if not found:
        raise Undecided
    try:
        json.loads(
            found[0].decode()
        ).encode()  # neither decodes nor encodes lone surrogates
    except UnicodeError:
        raise Undecided from None
    return found.end()


def expect(mark, line, at):
    if line[at : at + 1] != mark:
        raise Undecided
    return at + 1
