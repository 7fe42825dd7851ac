"""What notebooks of the textbook share: saved choices, and the made-up devices that they compare.

Tracks are scenarios of the textbook (MLSys·im 0.3.0, `engine.constraint_explorer` and `labs.experiments.v1_02_experiments`), not
measurements of devices: nothing else in this package reads them.
"""

import json
import math
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..errors import _input_error

CANDIDATES = {"compact": (0.6, 89.0, 64.0), "balanced": (1.0, 92.0, 72.0), "large": (1.6, 94.0, 78.0)}  # work, easy %, difficult %
INTERVENTIONS = ("none", "data", "model", "machine")


@dataclass
class LedgerState:
    """Choices of a reader: the track, the chapter, and a design for each chapter."""

    track: str | None = None
    current_step: int = 0
    history: dict = field(default_factory=dict)
    last_updated: str = ""


class DesignLedger:
    """Keeps a LedgerState in ~/.mlsys, in the file that the other package reads too. Volumes ("vol1", "vol2") have files of their own."""

    _LOCALSTORAGE_KEY = "mlsys_design_ledger"

    def __init__(self, volume=None):
        end = "" if volume is None else f"_{choice('volume', volume, ('vol1', 'vol2'))}"
        self.volume, self.storage_key = volume, self._LOCALSTORAGE_KEY + end
        self.config_dir = Path.home() / ".mlsys"
        self.file_path = self.config_dir / f"ledger{end}.json"
        self.last_load_error = self.last_save_error = None
        self.save_pending = False
        self._state = LedgerState()
        self.load()

    is_wasm = property(lambda self: sys.platform == "emscripten")

    def load(self):
        """The saved state, or an empty one where the file cannot be read; `last_load_error` says why."""
        self.last_load_error = None
        if not self.file_path.exists():
            return self._state
        try:
            data = json.loads(self.file_path.read_text(encoding="utf-8"))
            saved = data.get("history", {})
            if isinstance(saved, list):  # of the first versions
                saved = {entry.get("step", 0): entry.get("design", {}) for entry in saved}
            data["history"] = {int(k) if str(k).isdigit() else k: v for k, v in saved.items()}
            self._state = LedgerState(**data)
        except (OSError, ValueError, TypeError, AttributeError) as error:
            self.last_load_error = f"{type(error).__name__}: {error}"
            self._state = LedgerState()
        return self._state

    def save(self, track=None, step=None, design=None, chapter=None):
        """Changes the state and writes it. `chapter` is another name of `step`; without either it is the current one."""
        state, place = self._state, chapter if step is None else step
        state.track = track or state.track
        state.current_step = state.current_step if place is None else place
        if design is not None:
            state.history[state.current_step] = design
        self.config_dir.mkdir(exist_ok=True)
        self.file_path.write_text(json.dumps(asdict(state), indent=2), encoding="utf-8")

    async def load_async(self):
        return self.load()

    async def asave(self, track=None, step=None, design=None, chapter=None):
        self.save(track, step, design, chapter)

    async def flush(self):
        """Nothing waits: `save` writes at once."""

    def get_design(self, step_id):
        """Return the design of a step; None if there is none."""
        return self._state.history.get(step_id)

    def get_track(self):
        """Return the name of the track, or "NONE"."""
        return self._state.track or "NONE"

    def get_baseline(self, step_id):
        """Return the baseline of a step, which is always empty."""
        return {}

    def __repr__(self):
        return f"DesignLedger(track={self._state.track}, step={self._state.current_step})"


def choice(key, given, known):
    """`given`, if it is one of the known names."""
    if given in known:
        return given
    raise _input_error(f"'{key}' is not known", key=key, found=repr(given), expected=f"one of {', '.join(known)}", id="mlsysim.python.297")


def number(key, given, least=0.0, most=math.inf, above=False):
    """`given` as a float within its limits; `above` leaves out the least itself."""
    good = isinstance(given, (int, float)) and not isinstance(given, bool) and math.isfinite(given) and least <= given <= most
    if good and not (above and given == least):
        return float(given)
    span = f"{'above' if above else 'from'} {least:g}" + ("" if most == math.inf else f" to {most:g}")
    raise _input_error(f"'{key}' is not a number of its range", key=key, found=repr(given), expected=f"a finite number {span}",
                       id="mlsysim.python.298")
