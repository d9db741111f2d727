import sys

from typing_extensions import Buffer, disjoint_base

__test__: dict[str, str]

@disjoint_base
class FileMap(Buffer):
    def __new__(cls, file: int, nbytes: int) -> FileMap: ...
    def __len__(self) -> int: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
