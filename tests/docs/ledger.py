"""The seals of docs/reference/ledger.md agree, and no prediction can be changed, removed or inserted unnoticed."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]


def script():
    loader = importlib.machinery.SourceFileLoader("ledger_script", str(ROOT / "scripts/ledger"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def accepted(module, text):
    with tempfile.TemporaryDirectory() as folder:
        module.PAGE = pathlib.Path(folder) / "ledger.md"
        module.PAGE.write_text(text)
        with contextlib.redirect_stdout(io.StringIO()):
            return module.check() == 0


def main():
    sys.dont_write_bytecode = True
    module = script()
    text = module.PAGE.read_text()
    entries = [line for line in text.splitlines() if module.ROW.match(line)]
    first, second = entries[:2]
    predicted = module.rows(text)[0][5]
    attempts = {
        "a changed prediction": text.replace(predicted, "9" + predicted, 1),
        "a changed seal": text.replace(module.rows(text)[0][11], "0" * 16, 1),
        "an entry that is gone": text.replace(first + "\n", "", 1),
        "two entries in the other order": text.replace(first + "\n" + second, second + "\n" + first, 1),
    }
    faults = [] if accepted(module, text) else ["the page itself is refused"]
    faults += [f"{what} is accepted" for what, changed in attempts.items() if changed == text or accepted(module, changed)]
    print("\n".join(faults) or f"{len(entries)} entries, {len(attempts)} changes refused")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
