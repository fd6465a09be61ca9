# Say on pull request $NUMBER, in one comment, what it adds to and takes from memory.
set -euo pipefail
mark='<!-- mem diff -->'
words=$(mem diff "$BASE..$HEAD") || { echo "mem diff had nothing to say"; exit 0; }
printf '%s\n' "$words" | tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}"
old=$(gh api "repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments" --paginate \
  --jq ".[] | select(.body | startswith(\"$mark\")) | .id" | head -n 1) || old=
if [ -z "$words" ] && [ -z "$old" ]; then
  exit 0
fi
body=$(printf '%s\n%s' "$mark" "${words:-This branch no longer changes memory.}")
if [ -n "$old" ]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$old" -f body="$body" >/dev/null || said=no
else
  gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments" -f body="$body" >/dev/null || said=no
fi
[ -z "${said:-}" ] || echo "no comment: a pull request from a fork may not write one; see the summary"
