#!/usr/bin/env bash
# Sets up if need be, then runs a real-time engagement of three pursuers and one evader on ROS 2 and records it.
#
# usage: bash scripts/demo.sh [arguments of pe-ros engage]

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
bash "$ROOT/scripts/setup.sh"
use_venv
cd "$ROOT"

BAG="demo_output/$(date +%Y-%m-%d_%H-%M-%S)"
mkdir -p demo_output
pe-ros engage config/engagements/kinematic_3v1.yaml --pace realtime --record "$BAG" "$@"
say ""
pe-ros bag info "$BAG"
say ""
say "The bag is in $BAG; it can be read without ROS too (rosbags, mcap), or by: ros2 bag info $BAG"
