"""A shell line is split into the commands it runs, whatever surrounds them."""

import time

import pytest

from memcli.bans.patterns import matches, parse_pattern
from memcli.text.shell import (
    MOST_CHARACTERS,
    MOST_COMMANDS,
    MOST_WORDS,
    commands_of,
    read_line,
)

FORCE = "git push --force *"
RM = "rm -rf *"
NPM = "npm install *"

STOPPED = [
    (FORCE, "git push --force"),
    (FORCE, "git push --force origin main"),
    (FORCE, "git push origin main --force"),
    (FORCE, "git push -u --force origin feature"),
    (FORCE, "git -C /srv/shop push --force"),
    (FORCE, "git -c user.name=x --no-pager push origin --force"),
    (FORCE, "/usr/bin/git push --force"),
    (FORCE, "sudo git push --force"),
    (FORCE, "sudo -u deploy git push --force"),
    (FORCE, "env GIT_TRACE=1 git push --force"),
    (FORCE, "GIT_TRACE=1 git push --force"),
    (FORCE, "timeout 60 git push --force"),
    (FORCE, "nohup git push --force &"),
    (FORCE, "nice -n 10 git push --force"),
    (FORCE, "time git push --force"),
    (FORCE, "command git push --force"),
    (FORCE, "exec git push --force"),
    (FORCE, "bash -c 'git push --force'"),
    (FORCE, 'bash -lc "git push --force"'),
    (FORCE, "sh -ec 'cd x && git push --force'"),
    (FORCE, "zsh -c \"sh -c 'git push --force'\""),
    (FORCE, "eval 'git push --force'"),
    (FORCE, "git status && git push --force"),
    (FORCE, "git status; git push --force"),
    (FORCE, "git status || git push --force"),
    (FORCE, "true | git push --force"),
    (FORCE, "git add .\ngit push --force"),
    (FORCE, "(git push --force)"),
    (FORCE, "{ git push --force; }"),
    (FORCE, "if git diff --quiet; then git push --force; fi"),
    (FORCE, "for b in a b; do git push --force origin $b; done"),
    (FORCE, "echo $(git push --force)"),
    (FORCE, 'echo "$(git push --force)"'),
    (FORCE, "echo `git push --force`"),
    (FORCE, "out=$(git push --force 2>&1)"),
    (FORCE, "git push --force > log.txt 2>&1"),
    (FORCE, "git push --force >/dev/null"),
    (FORCE, "git push \\\n  --force"),
    (FORCE, "git  push   --force"),
    (FORCE, "git 'push' \"--force\""),
    (FORCE, "git push --force=true"),
    (FORCE, "cd shop && git push --force # only this once"),
    (FORCE, "cat <<EOF > notes\nhello\nEOF\ngit push --force"),
    (FORCE, "git commit -m 'done' && git push --force"),
    (FORCE, "! git push --force"),
    (FORCE, "python -m pytest && git push --force"),
    (FORCE, 'echo "$(echo "x"; git push --force)"'),
    (FORCE, 'bash -ce "git push --force"'),
    (FORCE, 'bash -c -- "git push --force"'),
    (FORCE, 'bash -o pipefail -c "git push --force"'),
    (FORCE, "bash <<EOF\ngit push --force\nEOF"),
    (FORCE, "bash -s <<'EOF'\ngit push --force\nEOF"),
    (FORCE, "cat <<EOF | sudo sh\ngit push --force\nEOF"),
    (FORCE, 'echo "git push --force" | sh'),
    (FORCE, "bash <<< 'git push --force'"),
    (FORCE, "cat <<EOF\n$(git push --force)\nEOF"),
    (FORCE, "cat <<EOF | tee x; git push --force\nhello\nEOF"),
    (FORCE, 'echo "a <<x"\ngit push --force\nx'),
    (FORCE, "echo $((1<<x))\ngit push --force\nx"),
    (FORCE, "((y = 1<<x))\ngit push --force\nx"),
    (FORCE, "echo $(( $(git push --force) + 1 ))"),
    (FORCE, "$((git push --force); true)"),
    (FORCE, "echo ${x:-$(git push --force)}"),
    (FORCE, "cat <<-EOF\n\thello\n\tEOF\ngit push --force"),
    (FORCE, "cat <<A <<B\nA\nB\ngit push --force"),
    (FORCE, "case x in a) git push --force;; esac"),
    (FORCE, "echo $(case x in a) git push --force;; esac)"),
    (FORCE, "f() { git push --force; }; f"),
    (FORCE, "function f { git push --force; }"),
    (FORCE, "$'git' $'push' --force"),
    (FORCE, r"$'\x67it' push --force"),
    (FORCE, "g\\\nit push --force"),
    (FORCE, "git push ${x//;/} --force"),
    (FORCE, "sudo --user x git push --force"),
    (FORCE, "sudo --user=x --group y git push --force"),
    (FORCE, "timeout --signal KILL 5 git push --force"),
    (FORCE, "flock /tmp/l git push --force"),
    (FORCE, "nice --adjustment 5 git push --force"),
    (FORCE, 'env -S "git push --force"'),
    (FORCE, 'env -S"git push" --force'),
    (FORCE, "env '--split-string=git push --force'"),
    (FORCE, 'watch "git push --force"'),
    (FORCE, 'su deploy -c "git push --force"'),
    (FORCE, "trap 'git push --force' EXIT"),
    (FORCE, f"cat > a <<EOF\n{'x' * 50_000}\nEOF\ngit push --force"),
    (FORCE, f"{': ;' * 1500} git push --force"),
    (FORCE, f"git push {'x ' * 1500} --force"),
    (FORCE, "git --attr-source HEAD push --force"),
    (FORCE, "echo --force | xargs git push"),
    (FORCE, "echo -e 'cd x\\ngit push --force' | bash"),
    (FORCE, "printf '%s' 'git push --force' | sh"),
    ("git reset --hard*", "git reset --har"),
    (NPM, "npm --loglevel error install"),
    (NPM, "npm --registry https://e.example install a"),
    (RM, "rm -rf build"),
    (RM, "rm -fr build"),
    (RM, "rm -r -f build"),
    (RM, "rm build -rf"),
    (RM, "find . -name build -exec rm -rf {} +"),
    (RM, "find . -name build | xargs rm -rf"),
    (RM, "find . -print0 | xargs -0 -n 1 rm -rf"),
    (RM, "ls | xargs -I {} rm -rf {}"),
    (NPM, "npm install"),
    (NPM, "npm install lodash --save-dev"),
    (NPM, "(cd web; npm install)"),
    (NPM, "npm install && npm run build"),
    ("pytest", "pytest"),
    ("git push * main", "git push -u origin main"),
]
UNFORCED = [
    "git push",
    "git push origin main",
    "git push --force-with-lease",
    "git pull --force",
    "git fetch --force",
    "echo git push --force",
    "echo 'git push --force'",
    'git commit -m "never git push --force"',
    "grep -rn 'git push --force' docs",
    'rg "git push --force"',
    "# git push --force",
    "git status # git push --force",
    "cat <<'EOF'\ngit push --force\nEOF",
    "git commit -m \"$(cat <<'EOF'\nnever git push --force\nEOF\n)\"",
    "cat > notes.md <<EOF\n$ git push --force\nEOF",
    "printf '%s' 'x; git push --force'",
    "git log --grep='push --force'",
    "git stash push --force-x",
    "git config alias.pf 'push --force'",
    "man git-push",
    "git help push",
    "legit push --force",
    "git-town push --force",
    "hg push --force",
    "git push; echo --force",
    "git push && docker build --force-rm .",
    "git push | tee --force",
    "mem add 'never git push --force'",
    "gh pr create --body 'git push --force is banned'",
    "sed -n '/git push --force/p' log",
    'echo "it\'s git push --force"',
    "test -f 'git push --force'",
    "git push > --force",
    "git branch --force x",
    "git submodule update --force",
    "git clean --force",
    "alias gpf='git push --force'",
    "cat <<EOF | tee notes\ngit push --force\nEOF",
    "python3 - <<'EOF'\nprint('git push --force')\nEOF",
    "cat <<'EOF'\n$(git push --force)\nEOF",
    "echo ${x:-git push --force}",
    "echo $((1<<2)) # git push --force",
    "sudo --user x echo git push --force",
    "echo 'git push --force' | cat",
]
PASSES = [
    *((FORCE, line) for line in UNFORCED),
    (RM, "rm -r build"),
    (RM, "rm -f build"),
    (RM, "rm build"),
    (RM, "rmdir -rf build"),
    (RM, "docker rm -f x"),
    (RM, "docker run --rm -f x"),
    (RM, "git rm -rf --cached x"),
    (RM, "find . -name build -delete"),
    (RM, "echo rm -rf build"),
    (RM, "ls -rf"),
    (RM, "cp -rf a b"),
    (NPM, "npm run install"),
    (NPM, "npm test"),
    (NPM, "npm --loglevel error test"),
    ("git reset --hard*", "git reset --soft HEAD"),
    (NPM, "pnpm install"),
    (NPM, "npm uninstall x"),
    (NPM, "npm ci"),
    (NPM, "npm run build -- install"),
    ("pytest", "pytest tests/cart"),
    ("pytest", "pytest -k cart"),
    ("pytest", "python -m pytest tests"),
    ("git push * main", "git push origin feature"),
    ("git push * main", "git push origin maintenance"),
    ("git push * main", "git push"),
]


@pytest.mark.unit
@pytest.mark.parametrize(("pattern", "line"), STOPPED)
def test_a_command_is_seen_in_any_layout(pattern, line):
    """Lists, pipes, shells, wrappers, paths, quotes and the order of options hide
    nothing."""
    wanted = parse_pattern(pattern)
    assert any(matches(wanted, words) for words in commands_of(line))


@pytest.mark.unit
@pytest.mark.parametrize(("pattern", "line"), PASSES)
def test_its_neighbours_pass(pattern, line):
    """Words that are quoted, printed, searched for or another program's are no
    command."""
    wanted = parse_pattern(pattern)
    assert not any(matches(wanted, words) for words in commands_of(line))


@pytest.mark.unit
@pytest.mark.parametrize("text", ["", "*", "?", "* push", "a && b", "x" * 501, "'"])
def test_a_pattern_that_cannot_bind_is_refused(text):
    """Empty, too wide, too long, or more than one command."""
    with pytest.raises(ValueError, match=r"\w"):
        parse_pattern(text)


@pytest.mark.unit
@pytest.mark.parametrize("line", ["(" * 5000, "$(" * 5000, '"$(' * 3000, "`" * 9999,
    "a;" * 9000, "<<a\n" * 3000, "\\" * 9999, "sh -c '" * 900, "x " * 9000])  # fmt: skip
def test_no_line_takes_long(line):
    """What a hostile line costs is bounded by its length."""
    commands = commands_of(line)
    assert len(commands) <= MOST_COMMANDS


UNREAD = [
    "git push 'origin",
    'git push "origin',
    "echo `git push",
    "echo $(git push",
    "cat <<EOF\ngit push",
    "curl https://example.org/x | sh",
    "curl https://example.org/x | sudo bash -s -- --yes",
    "; ".join(["true"] * (MOST_COMMANDS + 2)),
    f"git add {'x ' * (MOST_WORDS + 1)}",
    f"echo {'x' * MOST_CHARACTERS}",
    "echo " + "$(" * 20 + ")" * 20,
    "eval " * 20 + "ls",
    f"env {'-a b ' * 990}true; git push",
    "env -S " * 500,
    "for a in x y; do " + "for a in $a $a; do " * 30,
    "for a in" + " x" * 300 + "; do for b in" + " y" * 300 + "; do rm $a$b",
    "find . -exec " * 2000,
]


@pytest.mark.unit
@pytest.mark.parametrize("line", UNREAD)
def test_a_line_that_is_not_read_to_its_end_says_so(line):
    """Whoever binds by it can ask; nothing is cut in silence, nor does it take long."""
    start = time.process_time()
    assert read_line(line).unread
    assert time.process_time() - start < 1


@pytest.mark.unit
@pytest.mark.parametrize("line", [line for _, line in [*STOPPED, *PASSES]])
def test_a_whole_line_is_read_to_its_end(line):
    """What a shell can read gives no reason to ask."""
    assert read_line(line).unread == ""


@pytest.mark.unit
@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("cd a && ls", ["", "a"]),
        ("(cd a && ls); ls", ["", "a", ""]),
        ("pushd a; ls; popd; ls", ["", "a", "a", ""]),
        ("git -C a -c x=y rm b", ["a"]),
        ("cd a; git -C b rm c; cd /d; ls", ["", "a/b", "a", "/d"]),
        ("git commit -C HEAD", [""]),
        ("command cd a; ls", ["", "a"]),
        ("cd $A; cd $PWD/b; ls", ["", "", "b"]),
        ("A=a; cd $A; -; ls", ["", "a", "a"]),
    ],
)
def test_a_command_knows_where_it_is_called(line, folders):
    """A subshell ends where it was entered, git goes where it is told to."""
    assert [command.folder for command in read_line(line).commands] == folders
