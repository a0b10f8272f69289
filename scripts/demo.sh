#!/usr/bin/env bash
# Sets up if need be, then runs a real-time engagement on ROS 2 and records it: three pursuers that fly the
# trained policy that comes with the package, and one scripted evader.
#
# usage: bash scripts/demo.sh [arguments of pe-ros engage]

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
bash "$ROOT/scripts/setup.sh"
use_venv
cd "$ROOT"

BAG="demo_output/$(date +%Y-%m-%d_%H-%M-%S)"
mkdir -p demo_output
pe-ros engage config/engagements/kinematic_team_3v1.yaml --set roles.pursuer.policy.use=policies/kinematic_team_3v1_pursuer \
    --pace realtime --record "$BAG" "$@"
say ""
pe-ros bag info "$BAG"
say ""
say "The bag is in $BAG; it can be read without ROS too (rosbags, mcap), or by: ros2 bag info $BAG"
