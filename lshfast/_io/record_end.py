"""Find the end of a CSV record without keeping the record in memory."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

_State: TypeAlias = Literal["start of a field", "unquoted", "quoted", "after a quote"]
_QUOTE = 34
_LF = 10


class RecordEnd:
    """Search for the end of one record in pieces of bytes, by the csv module's lenient rules."""

    def __init__(self, delimiter: bytes) -> None:
        self.state: _State = "start of a field"
        self._delimiter = delimiter[0]
        self._leave_unquoted = re.compile(b"\n|" + re.escape(delimiter) + rb'(?:"|\Z)')

    def search(self, data: bytes | bytearray, at: int, end: int) -> int:
        """Return the end of the record in ``data[at:end]``, after its LF; -1 if it continues."""
        while at < end:
            if self.state == "quoted":
                at = data.find(b'"', at, end) + 1
                if not at:
                    return -1
                self.state = "after a quote"
            elif self.state == "unquoted" or (
                self.state == "start of a field" and data[at] != _QUOTE
            ):
                match = self._leave_unquoted.search(data, at, end)
                if match is None:
                    self.state = "unquoted"
                    return -1
                at = match.end()
                if data[at - 1] == _LF:
                    return at
                self.state = "quoted" if data[at - 1] == _QUOTE else "start of a field"
            elif data[at] == _LF:
                return at + 1
            else:
                quotes = data[at] == _QUOTE
                if quotes:
                    self.state = "quoted"
                elif data[at] == self._delimiter:
                    self.state = "start of a field"
                else:
                    self.state = "unquoted"
                at += 1
        return -1
