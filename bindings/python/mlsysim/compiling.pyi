from os import PathLike
from typing import Any

def ingest(*paths: str | PathLike[str], family: str = ..., model: str = ..., commit: str = ...,
           registry: str | PathLike[str] = ..., strict: bool = ..., keep_duplicates: bool = ...) -> dict[str, Any]: ...
