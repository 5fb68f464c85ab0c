"""Whether .dockerignore leaves in place what the image is built from. Used by observability.py.

Nobody builds the image in the tests, so this reads what the compiler would: the sources, the manifests and the targets
that they declare, what macros include, what the build scripts read, and what the Dockerfile names. Patterns count as
Docker counts them (moby/patternmatcher): the last one that fits a path or a folder above it decides.
"""

import re
import tomllib

# Folders that cargo reads when it builds one program: a target whose file is missing fails the manifest.
SOURCES = ["src", "crates", "tests", "benches"]
INCLUDE = re.compile(r"\binclude(?:_str|_bytes)?!\s*\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
WATCHED = re.compile(r"cargo:rerun-if-changed=([^\"\\{]+)\"")

# Patterns, a path, and whether Docker leaves it out.
CASES = [
    (["docs"], "docs/a/b.md", True),
    (["docs"], "crates/docs", False),
    (["**/*.md"], "README.md", True),
    (["**/*.md"], "docs/a/b.md", True),
    (["*.md"], "docs/a.md", False),
    (["**/*.md", "!docs/*.md"], "docs/a.md", False),
    (["**/*.md", "!docs/*.md"], "docs/a/b.md", True),
    (["!docs/*.md", "**/*.md"], "docs/a.md", True),
    (["docs", "!docs/a.md"], "docs/a.md", False),
    (["/docs/"], "docs/a.md", True),
    (["# docs", "", "do?s"], "docs/a.md", True),
    (["**/target/**"], "a/target/b/c", True),
    (["docs/**"], "docs", False),
]


def wrong(root):
    """What the build needs and does not get."""
    found = [
        f"build_context.py: {path} by {patterns} is not as Docker does it"
        for patterns, path, wanted in CASES
        if is_left_out(patterns, path) != wanted
    ]
    patterns = (root / ".dockerignore").read_text().splitlines()
    inputs = set()
    for path, why in needed(root, found):
        relative = path.resolve().relative_to(root).as_posix()
        if not path.exists():
            found.append(f"{why}: {relative} does not exist")
        elif is_left_out(patterns, relative):
            found.append(f".dockerignore leaves out {relative}: {why}")
        inputs.add(relative)
    # A check that finds nothing to look at says nothing.
    for one in ["docs/install.md", "docs/images/bind.png", "proto/smsc/v1/message.proto", "LICENSE-MIT"]:
        if one not in inputs:
            found.append(f"build_context.py does not see that {one} is needed")
    return found


def needed(root, found):
    """Every file that the build reads, and who reads it."""
    manifests = [root / "Cargo.toml", *sorted(root.glob("crates/*/Cargo.toml"))]
    yield root / "Cargo.lock", "cargo build --locked"
    for manifest in manifests:
        yield manifest, "the workspace"
        declared = tomllib.loads(manifest.read_text())
        for target in declared.get("test", []) + declared.get("bench", []) + declared.get("bin", []):
            if "path" in target:
                yield manifest.parent / target["path"], f"a target of {manifest.relative_to(root)}"
    for folder in SOURCES:
        for source in sorted((root / folder).rglob("*.rs")):
            where = source.relative_to(root).as_posix()
            yield source, "a source"
            if source.name == "build.rs":
                for named in WATCHED.findall(source.read_text()):
                    yield from below(source.parent / named, where)
            elif folder in ("src", "crates"):
                yield from included(source, where, found)
    yield from named_by_dockerfile(root)


def included(source, where, found):
    """What the macros of a source include. What begins with a folder and ends with a name may be any file in that folder."""
    text = source.read_text()
    for match in INCLUDE.finditer(text):
        argument = text[match.end() : closing(text, match.end())].strip()
        literals = LITERAL.findall(argument)
        # What a build script or a macro has made is not in the repository.
        if "OUT_DIR" in argument or argument == "{path:?}":
            continue
        if re.fullmatch(r'"[^"]*",?', argument):
            yield source.parent / literals[0], where
        elif re.fullmatch(r'concat!\(\s*"[^"]*/",\s*\$\w+\s*\)', argument):
            for file in sorted((source.parent / literals[0]).iterdir()):
                if file.is_file():
                    yield file, where
        else:
            found.append(f"{where}: build_context.py does not understand {match[0]}{argument})")


def closing(text, at):
    """Where the bracket that was opened before is closed."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def below(place, why):
    if not place.is_dir():
        yield place, why
    else:
        for file in sorted(place.rglob("*")):
            if file.is_file():
                yield file, why


def named_by_dockerfile(root):
    """What it copies from here, and what of it the commands name."""
    for line in (root / "Dockerfile").read_text().replace("\\\n", " ").splitlines():
        words = line.split()
        if words[:1] in (["COPY"], ["ADD"]) and not any(word.startswith("--from=") for word in words):
            for word in words[1:-1]:
                if not word.startswith("--") and word != ".":
                    yield from below(root / word, "Dockerfile")
        if words[:1] == ["RUN"]:
            for word in words[1:]:
                if re.fullmatch(r"[\w.-]+", word) and (root / word).is_file():
                    yield root / word, "Dockerfile"


def is_left_out(patterns, path):
    """As Docker decides it."""
    parts = path.split("/")
    paths = ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
    left_out = False
    for line in patterns:
        if line.startswith("#") or not line.strip():
            continue
        pattern = line.strip()
        is_exception = pattern.startswith("!")
        pattern = pattern.removeprefix("!").strip().strip("/")
        expression = expression_of(pattern)
        if any(re.fullmatch(expression, one, re.S) for one in paths):
            left_out = not is_exception
    return left_out


def expression_of(pattern):
    found, at = "", 0
    while at < len(pattern):
        rest = pattern[at:]
        if rest == "**":
            found, at = found + ".*", at + 2
        elif rest.startswith("**"):
            at += 3 if rest[2:3] == "/" else 2
            found += "(.*/)?"
        elif rest[0] == "*":
            found, at = found + "[^/]*", at + 1
        elif rest[0] == "?":
            found, at = found + "[^/]", at + 1
        elif rest[0] == "[" and "]" in rest:
            end = rest.index("]") + 1
            found, at = found + rest[:end], at + end
        else:
            found, at = found + re.escape(rest[0]), at + 1
    return found
