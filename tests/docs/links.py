"""Links of the documentation lead somewhere: files, headings, pages of the site's navigation.

Of README.md, CONTRIBUTING.md, docs/ and statements of the course every relative link is a file or folder that is there, and a #part of it a
heading of that page. A link to a page that scripts/site_pages.py makes is right too. Every page of docs/ is in the navigation of mkdocs.yml or
is linked from one that is, and the navigation names no page that is not there. Links to elsewhere are not followed.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import site_pages  # noqa: E402

CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]*`", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def headings(page):
    """The #parts of a page, as sites make them of its headings."""
    found = set()
    for line in CODE.sub(lambda m: m[0].strip("`") if "\n" not in m[0] else "", page.read_text()).splitlines():
        if match := re.match(r"#+ (.*)", line):
            found.add(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", match[1]).strip().lower()))
    return found


def faults():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
    linked, count = set(), 0
    for page in pages:
        for link in LINK.findall(CODE.sub("", page.read_text())):
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            path, _, part = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            linked.add(target)
            if target.is_relative_to(ROOT / "docs") and site_pages.made(target.relative_to(ROOT / "docs").as_posix()):
                continue
            if not target.exists():
                yield f"{page.relative_to(ROOT)}: {link} is not there"
            elif part and target.suffix == ".md" and part not in headings(target):
                yield f"{page.relative_to(ROOT)}: {link} has no such heading"
    named = set(re.findall(r"([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    generated = {name for name in named if name.startswith("generated/")}
    if generated != {f"generated/{name}" for name in site_pages.PAGES}:
        yield f"mkdocs.yml: of generated pages {sorted(generated)} are named, scripts/site_pages.py makes {site_pages.PAGES}"
    for name in sorted(named - generated):
        if not (ROOT / "docs" / name).exists():
            yield f"mkdocs.yml: {name} is not there"
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page.relative_to(ROOT / "docs").as_posix() not in named and page not in linked:
            yield f"{page.relative_to(ROOT)}: neither in the navigation nor linked"
    for picture in sorted([*(ROOT / "docs").rglob("*.svg"), *(ROOT / "docs").rglob("*.png")]):
        if picture not in linked:
            yield f"{picture.relative_to(ROOT)}: shown by no page"
    print(f"{len(pages)} pages, {count} links")


def main():
    found = list(faults())
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
