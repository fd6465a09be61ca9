"""Mine the packages for texts that say the same: `python mine.py PACKAGES OUT.jsonl`.

A line of the result is a JSON object: `source` (the package), `document` (a page or a
catalogue of it), `kind` and `texts`. The texts of a
*message* are sentences by language. Those of a *section* are its title and paragraphs
by language. Those of a *pair* are two texts of one language that belong together.
"""

import json
import sys
from pathlib import Path

from tests.bench.vectors.catalogues import (
    annotations,
    antd,
    by_key,
    chromium,
    gettext_catalogues,
    godot,
    godot_classes,
    home_assistant_frontend,
    qt,
    read_ftl,
    read_js,
    read_json,
    read_object,
    read_properties,
    typescript,
    unihan,
    vscode,
)
from tests.bench.vectors.english import (
    dialogues,
    docstrings,
    novel,
    readmes,
    wordnet,
)
from tests.bench.vectors.pages import (
    electron,
    in_order,
    mallard,
    markdown,
    node_red,
    pages,
)
from tests.bench.vectors.sources import SOURCES

READERS = {
    "docstrings": docstrings,
    "readmes": readmes,
    "dialogues": dialogues,
    "novel": novel,
    "libreoffice-help": pages(
        r"help/(?P<language>[\w-]+)/(?P<file>text/.*)\.html$", "*/help/*/text/*.html"
    ),
    "gettext": gettext_catalogues,
    "typescript": typescript,
    "vscode": vscode,
    "annotations": annotations,
    "electron": electron,
    "wordnet": wordnet,
    "ftl": by_key(
        read_ftl,
        r"l10n-(?P<language>[a-z]{2}(?:-[a-z]{2})?)_.*/(?P<file>[\w-]+\.ftl)$",
        "*.ftl",
        "*.xpi",
    ),
    "mozilla-properties": by_key(
        read_properties,
        r"l10n-(?P<language>[a-z]{2}(?:-[a-z]{2})?)_.*/(?P<file>[\w-]+\.properties)$",
        "*.properties",
        "*.xpi",
    ),
    "tomcat": by_key(
        read_properties,
        r"//(?P<file>[\w/]+?)/LocalStrings(?:_(?P<language>\w+))?\.properties$",
        "*LocalStrings*.properties",
        "*/java/tomcat10-*-10*.jar",
    ),
    "derby": by_key(
        read_properties,
        r"//(?P<file>[\w/]+?)_(?P<language>[a-z]{2}(?:_[A-Z]{2})?)\.properties$",
        "*.properties",
        "*/java/derby*-10*.jar",
    ),
    "home-assistant": by_key(
        read_json,
        r"//(?P<file>[\w/]+)/translations/(?P<language>[\w-]+)\.json$",
        "*/translations/*.json",
    ),
    "strapi": by_key(
        read_js,
        r"translations/(?P<language>[\w-]+)\.json\.js$",
        "*/src/translations/*.json.js",
    ),
    "locales": by_key(
        read_json,
        r"locales/(?P<language>[\w-]+)/(?P<file>[\w-]+)\.json$",
        "*/locales/*.json",
    ),
    "uppy": by_key(read_js, r"lib/(?P<language>[\w-]+)\.js$", "*/lib/*.js"),
    "apache": pages(
        r"manual/(?P<language>[\w-]+)/(?P<file>.*)\.html$", "*/manual/*.html"
    ),
    "pages": pages(r"(?P<file>[\w./+-]+)\.html$", "*.html"),
    "rust": pages(
        r"html/(?P<file>(?:book|std|reference|rust-by-example|nomicon|edition-guide|embedded-book|rustc|rustdoc|proc_macro|alloc)/.*)\.html$",
        "*.html",
    ),
    "chromium": chromium,
    "help": in_order(
        r"help/(?P<language>[\w-]+)/(?P<file>.*)\.html$", "*/help/*/*.html"
    ),
    "installation-guide": in_order(
        r"amd64/(?P<language>[\w-]+)/(?P<file>.*)\.html$",
        "*/installation-guide-amd64/*/*.html",
    ),
    "home-assistant-frontend": home_assistant_frontend,
    "markdown": markdown,
    "unihan": unihan,
    "antd": antd,
    "godot": godot,
    "godot-classes": godot_classes,
    "qt": qt,
    "lighthouse": by_key(
        read_json,
        r"locales/(?P<language>[\w-]+)\.json$",
        "*/localization/locales/*.json",
    ),
    "matrix": by_key(
        read_json, r"strings/(?P<language>\w+)\.json$", "*/i18n/strings/*.json"
    ),
    "syncthing": by_key(
        read_json, r"lang-(?P<language>[\w-]+)\.json$", "*/lang/lang-*.json"
    ),
    "node-red": node_red,
    "mallard": mallard,
    "handbook": pages(
        r"html/(?P<language>[\w-]+)/(?P<file>.*)\.html$", "*/html/*/*.html"
    ),
    "logto": by_key(
        read_object,
        r"locales/(?P<language>[\w-]+)/(?P<file>[\w/-]+)\.js$",
        "*/lib/locales/*.js",
    ),
    "payload": by_key(
        read_object, r"languages/(?P<language>\w+)\.js$", "*/dist/languages/*.js"
    ),
    "scratch": by_key(
        read_json,
        r"package/(?P<file>[\w./-]+)/(?P<language>[\w-]+)\.json$",
        "package/editor/*.json package/www/*.json",
    ),
    "openui5": by_key(
        read_properties,
        r"//package/(?P<file>[\w./-]*messagebundle)(?:_(?P<language>\w+))?\.properties$",
        "*messagebundle*.properties",
    ),
}


def main():
    """Read every source of sources.toml that is there."""
    packages = Path(sys.argv[1])
    out = Path(sys.argv[2])
    only = set(sys.argv[3:])
    with out.open("w", encoding="utf-8") as file:
        for name, source in SOURCES.items():
            if only and name not in only:
                continue
            found = [
                path
                for glob in source["files"].split()
                for path in sorted(packages.glob(glob))
            ]
            if not found:
                print(f"{name}: not there", file=sys.stderr)
                continue
            count = 0
            for reader in source["reader"].split():
                for record in READERS[reader](found):
                    file.write(
                        json.dumps({"source": name} | record, ensure_ascii=False) + "\n"
                    )
                    count += 1
            print(f"{name}: {count}", flush=True)


if __name__ == "__main__":
    main()
