"""Files that a caller names, through the one reader and the one writer of the library.

What is no regular file is refused by name and not waited for; what is written appears whole or not at all.
"""

import os

from . import _mlsysim as _core
from .errors import _input_error

__all__ = []


def _read_bytes(path, expected):
    """The bytes of a file. `expected` says in a few words what it should be."""
    return _core._read_file(os.fspath(path), expected)


def _read_text(path, expected):
    """The same as text in UTF-8."""
    try:
        return _read_bytes(path, expected).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _input_error("a file is no text", key=os.fspath(path), found=f"'{os.fspath(path)}': byte {error.start} is no UTF-8",
                           expected=expected, hint="save it as UTF-8", id="mlsysim.python.244") from None


def _write(path, content):
    """Writes text or bytes beside and renames: a file is replaced, a link, pipe or device is refused."""
    _core._write_file(os.fspath(path), content if isinstance(content, bytes) else content.encode("utf-8"))
