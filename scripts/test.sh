#!/usr/bin/env bash
# Sets up if need be, then checks style, types and all tests.
#
# usage: bash scripts/test.sh [pytest arguments]
#
#   bash scripts/test.sh                         everything but what is marked slow
#   bash scripts/test.sh test/sim -k timing      some tests
#   bash scripts/test.sh -m slow                 tests that take minutes each
#
#   PE_ROS_TEST_WORKERS=2   processes for the tests that can share the machine

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
bash "$ROOT/scripts/setup.sh"
use_venv
cd "$ROOT"

WORKERS="${PE_ROS_TEST_WORKERS:-2}"
failed=()
closing=()

# check NAME COMMAND...: runs a check with its output shown; a failure is told at the end, after all others have run.
check() {
    local name=$1 start=$SECONDS
    shift
    printf '\n==> %s\n' "$name"
    "$@" || failed+=("$name")
    printf '    %s: %d s\n' "$name" "$((SECONDS - start))"
}

# tests NAME ARGUMENT...: runs pytest and keeps its closing line; no test to run is no failure.
tests() {
    local name=$1 output status=0
    shift
    output=$(mktemp)
    python -m pytest "$@" 2>&1 | tee "$output" || status=$?
    closing+=("$name: $(tail -n 1 "$output")")
    rm -f "$output"
    ((status == 0 || status == 5))
}

check "style (ruff)" ruff check .
check "types (mypy --strict)" mypy
if [[ " $* " == *" -m"* ]]; then
    check "tests" tests "tests" "$@"
else
    check "tests side by side" tests "side by side" -n "$WORKERS" -m "not (ros or serial or slow)" "$@"
    check "tests one by one (ROS graph, timing)" tests "one by one" -m "(ros or serial) and not slow" "$@"
fi

printf '\n'
printf '%s\n' "${closing[@]}"
if ((${#failed[@]})); then
    fail "$(IFS=,; printf '%s' "${failed[*]}")"
fi
say "All checks hold ($SECONDS s)."
