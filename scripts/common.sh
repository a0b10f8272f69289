# Sourced by the scripts beside it: where things are, how they speak, and a clean environment.

set -euo pipefail

ROOT="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"
VENV="$ROOT/.venv"
LOG="$VENV/setup.log"

set -E
trap 'printf "\nFAILED: %s, line %s: %s\n" "${BASH_SOURCE[0]}" "$LINENO" "$BASH_COMMAND" >&2' ERR

say() { printf '%s\n' "$*"; }

# Ends the script with a reason and, where there is one, the cure.
fail() {
    printf '\nFAILED: %s\n' "$1" >&2
    shift
    for line in "$@"; do printf '  %s\n' "$line" >&2; done
    exit 1
}

# step NAME COMMAND...: runs the command with its output in the log; says what is done, every 20 s that it still is,
# and how long it took; on failure shows the end of the log.
step() {
    local name=$1 start=$SECONDS pid status=0
    shift
    printf '==> %s\n' "$name"
    printf '\n### %s\n$ %s\n' "$name" "$*" >>"$LOG"
    "$@" >>"$LOG" 2>&1 </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.5
        if ((SECONDS > start && (SECONDS - start) % 20 == 0)) && kill -0 "$pid" 2>/dev/null; then
            printf '    %3d s: %s\n' "$((SECONDS - start))" "$(tail -n 1 "$LOG" | tr '\r' '\n' | tail -n 1 | cut -c 1-100)"
            sleep 1
        fi
    done
    wait "$pid" || status=$?
    if ((status)); then
        printf '\n--- the last lines of %s ---\n' "$LOG" >&2
        tail -n 25 "$LOG" >&2
        fail "$name (exit code $status)" "${STEP_CURE:-The log above says why; run the script again when it is cured.}"
    fi
    printf '    done in %d s\n' "$((SECONDS - start))"
}

# A sourced ROS 2 installation, or the virtual environment of a calling process, must not mix with .venv.
if [[ -n "${AMENT_PREFIX_PATH:-}" && "${AMENT_PREFIX_PATH}" != "$VENV" ]]; then
    say "note: $AMENT_PREFIX_PATH is sourced; this script leaves it alone and uses the ROS 2 wheels in .venv"
fi
unset AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH PYTHONPATH PYTHONHOME LD_LIBRARY_PATH \
    ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION RMW_IMPLEMENTATION _ROS_WHEELS_BOOTSTRAP_COMPLETE

# What runs from .venv: found by ros2 and by ament, seen by nobody else on the network.
use_venv() {
    export PATH="$VENV/bin:$PATH" VIRTUAL_ENV="$VENV" AMENT_PREFIX_PATH="$VENV"
    export ROS_AUTOMATIC_DISCOVERY_RANGE="${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}"
    export ROS_LOG_DIR="${ROS_LOG_DIR:-$VENV/ros_log}"
}
