"""Which files a caller may name."""

import os
import re
from pathlib import Path

from ..errors import _input_error

__all__ = ["Allowed"]

_FILE = re.compile(r"(?i)\.(ya?ml|csv|json|so|toml)$")
_IN_TEXT = re.compile(r"[^\s\"'{}\[\],]*(?:/|\.ya?ml\b)[^\s\"'{}\[\],]*")


class Allowed:
    """Folders that were allowed; nothing else is read. Links are followed before they are judged."""

    def __init__(self, folders=()):
        self.folders = [Path(folder).resolve(strict=True) for folder in folders]

    def path(self, text):
        """The path that a text names. InputError where it lies in no folder that was allowed."""
        found = Path(text).expanduser().resolve()
        if not any(found == folder or folder in found.parents for folder in self.folders):
            raise _input_error("this file may not be read", key=str(text), found="a path outside of the folders that were allowed",
                               expected=f"a path in {', '.join(map(str, self.folders))}" if self.folders else "no path at all",
                               hint="whoever starts the server allows folders by --allow DIR", id="mlsysim.python.210")
        return found

    def check(self, value):
        """Looks at every text of a value; one that names a file must be allowed."""
        if isinstance(value, dict):
            for key, inner in value.items():
                self.check(key)
                self.check(inner)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                self.check(inner)
        elif isinstance(value, str) and self._names_a_file(value):
            self.path(value.lstrip("@"))

    def check_text(self, text):
        """The same for the words of a file, which may name others."""
        if "\\" in text:
            raise _input_error("a plan with escapes may hide a path", key="file", found="'\\'", expected="plain text",
                               id="mlsysim.python.211")
        for word in _IN_TEXT.findall(text):
            self.check(word)

    @staticmethod
    def _names_a_file(text):
        return (text.startswith(("@", "/", "~", "./", "../")) or bool(_FILE.search(text)) or "/../" in text
                or ("/" in text and os.path.exists(text)))
