# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

"""Hooks of mkdocs: files beside the code become pages, and links stay right.

Every link in the repository's Markdown is relative to the file that it stands
in, so that it works in a checkout and on GitHub. Here each becomes a link to
the page that was made of its target, or to GitHub if none was.
"""

import glob
import logging
import os
import posixpath
import re

from mkdocs.structure.files import File

log = logging.getLogger("mkdocs.hooks.links")

# What becomes pages besides docs/, at the same path as in the repository.
PAGES = [
    "connector/*/README.md",
    "connector/*/documentation.md",
    "receiver/*/README.md",
    "receiver/*/documentation.md",
    "extension/*/README.md",
    "extension/*/documentation.md",
    "cmd/*/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]

INLINE_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
# The generated tables of status have pictures from another host: the site fetches nothing.
REMOTE_IMAGE = re.compile(r"!\[[^\]]*\]\(https?:")
FENCE = re.compile(r"^\s*(```|~~~)")


def on_files(files, config):
    root = os.path.dirname(config["config_file_path"])
    for pattern in PAGES:
        for path in sorted(glob.glob(pattern, root_dir=root)):
            files.append(File(path, root, config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, page, config, files):
    root = os.path.dirname(config["config_file_path"])
    docs = posixpath.relpath(config["docs_dir"], root)
    here = page.file.src_uri
    source = here if page.file.abs_src_path == os.path.join(root, here) else posixpath.join(docs, here)

    def rewrite(match):
        target = match[2]
        if ":" in target or target.startswith("/"):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if not os.path.exists(os.path.join(root, path)):
            log.warning("%s: the link %s leads nowhere", source, target)
        uri = page_of(path, docs, files)
        if uri is None:
            url = posixpath.join(config["repo_url"], "blob/main", path)
        else:
            url = posixpath.relpath(uri, posixpath.dirname(here))
        return match[1] + url + (match[3] or "") + match[4]

    lines, fenced = [], False
    for line in markdown.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        if not fenced and REMOTE_IMAGE.search(line):
            continue
        lines.append(line if fenced else INLINE_LINK.sub(rewrite, line))
    return "\n".join(lines)


def page_of(path, docs, files):
    """Returns the site's file that was made of a path in the repository, if any."""
    candidates = [path, posixpath.join(path, "README.md")]
    if path.startswith(docs + "/"):
        candidates.insert(0, posixpath.relpath(path, docs))
    for candidate in candidates:
        if files.get_file_from_path(candidate):
            return candidate
    return None
