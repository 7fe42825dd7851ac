"""Puts the explorer's folder into one page: one_file.py FOLDER PAGE

Style and scripts stand in the page itself; its policy allows them by their digests and nothing else. The page opens from file://
and fetches nothing.
"""

import base64
import hashlib
import pathlib
import re
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, out = map(pathlib.Path, sys.argv[1:])
    page = (folder / "index.html").read_text(encoding="utf-8")
    # What would end the element is written otherwise: in texts, patterns and templates of JavaScript the two are the same.
    scripts = [re.sub(r"<(?=/script|!--)", r"\\x3c", (folder / name).read_text(encoding="utf-8"), flags=re.I)
               for name in ("core.js", "programs.js", "explorer.js") if (folder / name).exists()]
    style = (folder / "style.css").read_text(encoding="utf-8")

    def digest(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    policy = (f"default-src 'none'; script-src {' '.join(map(digest, scripts))} blob: 'wasm-unsafe-eval'; worker-src blob:; "
              f"style-src {digest(style)}; img-src data: blob:")
    page, policies = re.subn(r'(http-equiv="Content-Security-Policy" content=")[^"]*"', lambda m: f'{m[1]}{policy}"', page)
    page, styles = re.subn(r'<link rel="stylesheet" href="style.css">', lambda m: f"<style>{style}</style>", page)
    page, removed = re.subn(r'<script defer src="(?:programs|explorer)\.js"></script>\n', "", page)
    if (policies, styles, removed) != (1, 1, 2):
        sys.exit(f"{folder / 'index.html'} has another form than one_file.py knows")
    inline = "".join(f"<script>{text}</script>\n" for text in scripts)
    out.write_text(page.replace("</body>", f"{inline}</body>"), encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()
