# Compact the memory of this checkout, and commit the result to $BRANCH: at once, or as a pull request.
set -euo pipefail
export MEM_DB="${RUNNER_TEMP:-/tmp}/mem.db"
bot='github-actions[bot]'
before=$(git rev-parse HEAD)
report=$(mem compact --due 2>&1) || { code=$?; printf '%s\n' "$report"; [ "$code" -eq 3 ] || exit "$code"; }
git add --all -- .
if git diff --cached --quiet; then
  echo "memory is compact already"
  exit 0
fi
git -c "user.name=$bot" -c "user.email=41898282+$bot@users.noreply.github.com" \
  commit --quiet -m "Compact memory" -m "$report"
words=$(mem diff "$before..HEAD" 2>/dev/null) || words=$report
printf '%s\n' "$words" | tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}"
if git push --quiet origin "HEAD:refs/heads/$BRANCH"; then
  exit 0
fi
git fetch --quiet origin "$BRANCH"
if [ "$(git rev-parse FETCH_HEAD)" != "$before" ]; then
  echo "$BRANCH has moved on: the run for its newest commit compacts it"
  exit 0
fi
echo "$BRANCH takes no push: proposing the result as a pull request"
git push --quiet --force origin HEAD:refs/heads/mem/compact
if [ -z "$(gh pr list --head mem/compact --base "$BRANCH" --state open --json number --jq '.[].number')" ]; then
  gh pr create --head mem/compact --base "$BRANCH" --title "Compact memory" --body "$words"
else
  gh pr edit mem/compact --body "$words"
fi
