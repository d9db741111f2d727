from typing import Any

__test__: dict[str, str]

def checksum(*pieces: Any) -> int: ...
