"""A shell line is split into the commands it runs, whatever surrounds them."""

import pytest

from memcli.guard.patterns import matches, parse_pattern
from memcli.sessions.shell import commands_of

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
PASSES = [
    (FORCE, "git push"),
    (FORCE, "git push origin main"),
    (FORCE, "git push --force-with-lease"),
    (FORCE, "git pull --force"),
    (FORCE, "git fetch --force"),
    (FORCE, "echo git push --force"),
    (FORCE, "echo 'git push --force'"),
    (FORCE, 'git commit -m "never git push --force"'),
    (FORCE, "grep -rn 'git push --force' docs"),
    (FORCE, 'rg "git push --force"'),
    (FORCE, "# git push --force"),
    (FORCE, "git status # git push --force"),
    (FORCE, "cat <<'EOF'\ngit push --force\nEOF"),
    (FORCE, "git commit -m \"$(cat <<'EOF'\nnever git push --force\nEOF\n)\""),
    (FORCE, "cat > notes.md <<EOF\n$ git push --force\nEOF"),
    (FORCE, "printf '%s' 'x; git push --force'"),
    (FORCE, "git log --grep='push --force'"),
    (FORCE, "git stash push --force-x"),
    (FORCE, "git config alias.pf 'push --force'"),
    (FORCE, "man git-push"),
    (FORCE, "git help push"),
    (FORCE, "legit push --force"),
    (FORCE, "git-town push --force"),
    (FORCE, "hg push --force"),
    (FORCE, "git push; echo --force"),
    (FORCE, "git push && docker build --force-rm ."),
    (FORCE, "git push | tee --force"),
    (FORCE, "mem add 'never git push --force'"),
    (FORCE, "gh pr create --body 'git push --force is banned'"),
    (FORCE, "sed -n '/git push --force/p' log"),
    (FORCE, 'echo "it\'s git push --force"'),
    (FORCE, "test -f 'git push --force'"),
    (FORCE, "git push > --force"),
    (FORCE, "git branch --force x"),
    (FORCE, "git submodule update --force"),
    (FORCE, "git clean --force"),
    (FORCE, "alias gpf='git push --force'"),
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
    assert len(commands) <= 200
