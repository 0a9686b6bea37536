"""Where the book is published: one command sets every address in it, or takes them all out.

    python tools/address.py REPOSITORY TAG [--branch main] [--pages URL] [--hub URL] [--archive URL]
    python tools/address.py            nowhere: no address, no button

REPOSITORY is the address of the book's repository, https://HOST/OWNER/NAME, and TAG the edition
that readers get. `--branch` is the branch that edits go to and that hubs follow; `--pages` is where
the built pages are (GitHub Pages for a repository on GitHub, unless it is given); `--hub` is a
JupyterHub that has nbgitpuller; `--archive` is the zip of TAG, needed of another host than GitHub.

The addresses are kept in tools/address.json, which tools/publishing.py reads for the pages. This
command also writes them into the first cell of the notebooks and into CITATION.cff, and beside them
the sum by which the cell knows that what it downloads is what stands here now.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

import nbformat
import notebooks

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tools" / "address.json"
CITATION = ROOT / "CITATION.cff"
GITHUB = "https://github.com/"
BINDER, COLAB = "https://mybinder.org/v2", "https://colab.research.google.com"


@dataclass(frozen=True)
class Address:
    """Where the book is; every part is empty while it is nowhere."""

    repository: str = ""
    tag: str = ""
    branch: str = ""
    pages: str = ""  # ends in a slash
    hub: str = ""
    archive: str = ""
    sha256: str = ""  # of what runs in the archive, as the first cell computes it


def on_github(address: Address) -> str:
    """OWNER/NAME of a repository on GitHub; empty for another host."""
    return address.repository.partition(GITHUB)[2]


def launches(address: Address, path: str) -> dict[str, str]:
    """By the name of a service, the address that opens a notebook there."""
    links = {}
    if place := on_github(address):
        links["Colab"] = f"{COLAB}/github/{place}/blob/{address.tag}/{quote(path)}"
        urlpath = urlencode({"urlpath": f"lab/tree/{path}"}, safe="/")
        links["Binder"] = f"{BINDER}/gh/{place}/{address.tag}?{urlpath}"
    if address.hub:
        # nbgitpuller updates a reader's copy from a branch; of a tag it could only make the first.
        name = address.repository.rpartition("/")[2]
        wanted = {"repo": address.repository, "branch": address.branch}
        wanted["urlpath"] = f"lab/tree/{name}/{path}"
        links["JupyterHub"] = f"{address.hub}/hub/user-redirect/git-pull?{urlencode(wanted)}"
    return links


def first_cell(address: Address, source: str) -> str:
    """The source of the notebooks' first cell, with this address in it."""
    name = f"sgemm-book-{address.tag}".rstrip("-")
    lines = {"ARCHIVE": address.archive, "SHA256": address.sha256, "NAME": name}
    for variable, value in lines.items():
        pattern = rf'^{variable} = "[^"\n]*"'
        source = re.sub(pattern, f'{variable} = "{value}"', source, flags=re.MULTILINE)
    return source


def digest(root: Path) -> str:
    """The SHA-256 of what a notebook runs of the book, as its first cell computes it."""
    scope: dict = {}
    exec(notebooks.first_cell().partition("\nhere = ")[0], scope)
    return scope["digest"](root)


def citation(address: Address) -> str:
    """CITATION.cff, in which the address stands last."""
    stated = {"version": address.tag, "repository-code": address.repository, "url": address.pages}
    text = re.sub(rf"^({'|'.join(stated)}): .*\n", "", CITATION.read_text("utf-8"), flags=re.M)
    return text + "".join(f'{key}: "{value}"\n' for key, value in stated.items() if value)


def files(address: Address) -> dict[Path, str]:
    """What each file that holds the address has to hold, but for the notebooks' first cells."""
    cell = first_cell(address, notebooks.FIRST_CELL.read_text("utf-8"))
    return {
        RECORD: json.dumps(dataclasses.asdict(address), indent=4) + "\n",
        CITATION: citation(address),
        notebooks.FIRST_CELL: cell,
    }


def read(path: Path = RECORD) -> Address:
    """The address that the book has now."""
    return Address(**json.loads(path.read_text("utf-8")))


def write(address: Address) -> None:
    """Write the address into the files that have it, and into the notebooks' first cells."""
    for path, text in files(address).items():
        path.write_text(text, encoding="utf-8")
    for path in notebooks.notebooks():
        nb = nbformat.read(path, as_version=4)
        notebooks.set_first_cell(nb)
        nbformat.write(nb, path)


def url(text: str) -> str:
    """argparse type: an address on the web, or on this machine to try one; no slash at its end."""
    if not re.fullmatch(r"(https://[\w.-]+|http://127\.0\.0\.1)(:\d+)?(/[\w.~%+/-]*)?", text):
        raise argparse.ArgumentTypeError(f"not an https address: {text!r}")
    return text.rstrip("/").removesuffix(".git")


def word(text: str) -> str:
    """argparse type: the name of a tag or a branch."""
    if not re.fullmatch(r"\w[\w./-]*", text) or ".." in text:
        raise argparse.ArgumentTypeError(f"not the name of a tag or a branch: {text!r}")
    return text


def main(arguments: list[str] | None = None) -> int:
    """Write the address that the arguments give, or none; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("repository", nargs="?", type=url)
    parser.add_argument("tag", nargs="?", type=word)
    parser.add_argument("--branch", default="main", type=word)
    for name in "pages", "hub", "archive":
        parser.add_argument(f"--{name}", type=url)
    given = parser.parse_args(arguments)
    if given.repository is None:
        write(Address())
        return 0
    if given.tag is None:
        parser.error("a repository needs a tag, so that readers get one edition of all files")
    address = Address(given.repository, given.tag, given.branch)
    owner, _, name = on_github(address).partition("/")
    archive = given.archive or (owner and f"{given.repository}/archive/refs/tags/{given.tag}.zip")
    if not archive:
        parser.error(f"the archives of {given.repository} are not known: give --archive")
    pages = (given.pages or (owner and f"https://{owner.lower()}.github.io/{name}")).rstrip("/")
    pages += "/" if pages else ""
    parts = {"pages": pages, "hub": given.hub or "", "archive": archive, "sha256": digest(ROOT)}
    write(dataclasses.replace(address, **parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
