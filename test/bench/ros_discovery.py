"""Time until two processes hear each other, with stock discovery and with other settings; bare rclpy, no pe_ros.

    python test/bench/ros_discovery.py --runs 20 stock profile.xml

Each run starts a publisher and a subscriber up to half a second apart, and takes the time from when both exist to the
first message received.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

PUBLISHER = """
import sys, time, rclpy
from std_msgs.msg import Float64
rclpy.init()
node = rclpy.create_node("talker")
publisher = node.create_publisher(Float64, "chatter", 10)
print(time.monotonic(), flush=True)
while True:
    publisher.publish(Float64())
    time.sleep(0.005)
"""
SUBSCRIBER = """
import time, rclpy
from std_msgs.msg import Float64
rclpy.init()
node = rclpy.create_node("listener")
heard = []
node.create_subscription(Float64, "chatter", lambda message: heard.append(time.monotonic()), 10)
created = time.monotonic()
while not heard and time.monotonic() < created + 20:
    rclpy.spin_once(node, timeout_sec=1)
print(created, heard[0] if heard else created + 20, flush=True)
node.destroy_node()
rclpy.shutdown()
"""


def one_run(setting: str, domain: int, offset: float) -> float:
    """Seconds from when publisher and subscriber both exist to the first message."""
    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    for name in ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"):
        environment.pop(name, None)
        if setting != "stock":
            environment[name] = setting
    scripts = [PUBLISHER, SUBSCRIBER] if offset > 0 else [SUBSCRIBER, PUBLISHER]
    processes = []
    for script in scripts:
        processes.append(
            subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True)
        )
        time.sleep(abs(offset) if not processes[1:] else 0)
    publisher, subscriber = processes if offset > 0 else processes[::-1]
    try:
        created, heard = map(float, subscriber.communicate(timeout=40)[0].split())
        publisher.kill()
        published = float(publisher.communicate()[0].split()[0])
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return heard - max(created, published)


def main() -> None:
    """Print a table of medians, 90th percentiles and maxima."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="+", help="'stock', or a Fast DDS profile")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--domain", type=int, default=70)
    arguments = parser.parse_args()
    draw = random.Random(1)
    times: dict[str, list[float]] = {setting: [] for setting in arguments.settings}
    for _ in range(arguments.runs):
        offset = draw.uniform(-0.5, 0.5)
        for setting, measured in times.items():
            measured.append(one_run(setting, arguments.domain, offset))
    print(f"{'setting':40} {'median':>8} {'p90':>8} {'max':>8}  [s], {arguments.runs} runs")
    for setting, measured in times.items():
        measured.sort()
        p90 = measured[int(0.9 * (len(measured) - 1))]
        print(f"{Path(setting).name:40} {statistics.median(measured):8.2f} {p90:8.2f} {measured[-1]:8.2f}")


if __name__ == "__main__":
    main()
