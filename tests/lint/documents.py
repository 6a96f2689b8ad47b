#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands, options, links, files and paths in the documents exist; pages about rooms are short.

Argument: the cleave program."""
import fnmatch
import re
import subprocess
import sys
from pathlib import PurePosixPath

import tree

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ +(.*)$", re.M)
CODE_BLOCK = re.compile(r"^```.*?^```", re.S | re.M)
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.S | re.M)
DEV = re.compile(r"\./dev ([a-z]+)")
WORDS = r"((?: +--?[a-z][a-z-]*(?:[= ][^\s`-]\S*)?)*)"
CLEAVE = re.compile(r"(?:^|[`$|;(] *)cleave ([a-z]+(?:-[a-z]+)*)" + WORDS, re.M)
FILE = re.compile(r"`([\w./-]+\.(?:c|h|py|tsv|build))`")
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?<![\w./~$-])[\w-]+(?:/[\w.*-]+)+")
GENERATED = ("web/dist", "web/node_modules", "build")
OPTION = re.compile(r"--[a-z][a-z-]*")
# The pages about the rooms are short, and each says one thing.
SHORT, MAX_LINES = ("docs/architecture.md", "docs/architecture/"), 150


def dev_verbs():
    table = re.search(r"<<-'END'\n(.*?)\n\tEND", tree.read("dev"), re.S)[1]
    return {line.strip().split("|")[0] for line in table.splitlines()}


def help_of(cleave, *verb):
    return subprocess.run([cleave, *verb, "--help"], capture_output=True, text=True,
                          check=True).stdout


def cleave_verbs(cleave):
    text = help_of(cleave).split("\nVerbs:\n")[1]
    return {m[1]: set(OPTION.findall(help_of(cleave, m[1]))) | {"--help"}
            for m in re.finditer(r"^  ([a-z-]+)(?: |$)", text, re.M)}


def anchors_of(text):
    """The anchors that GitHub generates from headings."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in HEADING.findall(CODE_BLOCK.sub("", text))}


def check_links(name, text):
    folder = (tree.ROOT / name).parent
    wrong = []
    for link, anchor in LINK.findall(text):
        if "://" in link:
            continue
        if not (folder / link).exists():
            wrong.append(f"{name}: links to {link}, which does not exist")
        elif anchor and anchor not in anchors_of((folder / link).read_text() if link else text):
            wrong.append(f"{name}: links to {link}#{anchor}, and no heading has that name")
    return wrong


def check_files(name, text, known):
    """A file is named from the root, from src/, or by its last part only."""
    return [f"{name}: names {file}, which does not exist" for file in FILE.findall(text)
            if not any(k == file or k.endswith(f"/{file}") for k in known)]


def folders_of(known):
    return {str(parent) for name in known for parent in PurePosixPath(name).parents} - {"."}


def is_there(path, known):
    """A word in capitals, as NAME, and an asterisk match any text."""
    pattern = re.sub(r"[A-Z]{4,}", "*", path)
    if pattern == path and "*" not in path:
        return path in known
    return any(fnmatch.filter(known, pattern))


def check_paths(name, text, known, folders):
    """A path that begins with a folder of the tree, or of src/, is a file or a folder."""
    names = folders | set(known)
    wrong = []
    for span in SPAN.findall(CODE_BLOCK.sub("", text)):
        for path in PATH.findall(span):
            first = path.split("/")[0]
            if path.startswith(GENERATED) or not {first, f"src/{first}"} & folders:
                continue
            if not is_there(path, names) and not is_there(f"src/{path}", names):
                wrong.append(f"{name}: names {path}, which does not exist")
    return wrong


def check_commands(name, text, dev, cleave):
    wrong = []
    for code in CODE.findall(text):
        wrong += [f"{name}: './dev {verb}' is not a verb" for verb in DEV.findall(code)
                  if verb not in dev]
        for verb, rest in CLEAVE.findall(code):
            if verb not in cleave:
                wrong.append(f"{name}: 'cleave {verb}' is not a verb")
                continue
            wrong += [f"{name}: 'cleave {verb}' has no option {option}"
                      for option in OPTION.findall(rest) if option not in cleave[verb]]
    return wrong


def check_pages(verbs, text):
    """Each verb has a man page, and meson builds it."""
    names = set(re.findall(r"'([a-z-]+)'", re.search(r"man_verbs = \[(.*?)\]", text, re.S)[1]))
    return [f"man/meson.build: man_verbs has no '{verb}', so its page is not built"
            for verb in sorted(set(verbs) - names)]


def check_length(name, text):
    n_lines = text.count("\n")
    if name.startswith(SHORT) and n_lines > MAX_LINES:
        return [f"{name}: {n_lines} lines, and pages about rooms end at {MAX_LINES}"]
    return []


def check_changelog(text):
    """A release has each heading once."""
    wrong = []
    for release in re.split(r"^## ", text, flags=re.M)[1:]:
        headings = re.findall(r"^### (.*)", release, re.M)
        wrong += [f"CHANGELOG.md: {release.splitlines()[0]}: several headings '{heading}'"
                  for heading in sorted(set(headings)) if headings.count(heading) > 1]
    return wrong


def check_readme(text):
    return [f"README.md: does not mention {what}" for what in
            ("./dev demo", "./dev check", "docs/isolation.md", "docs/architecture.md")
            if what not in text]


def main():
    dev, cleave = dev_verbs(), cleave_verbs(sys.argv[1])
    wrong, names = check_readme(tree.read("README.md")), tree.files(".md")
    wrong += check_pages(cleave, tree.read("man/meson.build"))
    wrong += check_changelog(tree.read("CHANGELOG.md"))
    known = tree.files()
    folders = folders_of(known)
    for name in names:
        text = tree.read(name)
        wrong += check_links(name, text) + check_files(name, text, known)
        wrong += check_paths(name, text, known, folders) + check_length(name, text)
        wrong += check_commands(name, text, dev, cleave)
    return tree.finish(wrong, len(names))


if __name__ == "__main__":
    sys.exit(main())
