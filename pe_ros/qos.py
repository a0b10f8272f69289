"""One named quality of service per topic.

A publisher offers a profile, a subscription requests one, and they hear each other only if the offer is at least as
strong: a reliable subscription hears nothing from a best-effort publisher, a latched one nothing from a volatile one,
and one that requests a deadline nothing from a publisher that offers a longer one or none. Every function gives a
profile that fits itself, so both sides call the same one; where they differ there are two.

The pace decides: in lockstep a lost or expired message would change the result, so everything is reliable, long kept
and without time limits.

| topic | realtime, wall | lockstep |
|---|---|---|
| odom, observation | best effort, last 10 | reliable, last 1000 |
| action, command | reliable, last 1; deadline and lifespan if the publisher gives them | reliable, last 1000 |
| applied, status | reliable, last 10 | reliable, last 1000 |
| safety event | reliable, last 100 | reliable, last 1000 |
| engagement state, layout, metadata | reliable, latched, last 1 | the same, last 1000 for the state |
| markers, diagnostics | reliable, last 10 | the same |
| clock | offered reliable, last 10; heard as best effort, last 1 | the same |
"""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

from pe_sim.errors import RosError

PACES = ("realtime", "lockstep", "wall")
LOCKSTEP = "lockstep"
#: Kept in lockstep, where nothing may be lost: more than a whole engagement's messages between two decisions.
DEEP = 1000
#: Kept of sensor-like topics: rides out a callback of half a second at 20 Hz; what is older is of no use.
SENSOR_DEPTH = 10
#: Deadline in periods: one decision may be missed or late without an alarm, two in a row may not.
DEADLINE_PERIODS = 2
_NS = 1_000_000_000


def odom(pace: str) -> QoSProfile:
    """`<agent>/odom`: the newest state matters, a late one is worthless; what robots' drivers publish fits."""
    return _sensor(pace)


def observation(pace: str) -> QoSProfile:
    """`<agent>/observation/<sensor>`: like odometry; a gap in the sequence tells what was lost."""
    return _sensor(pace)


def action(pace: str, period: int | None = None, valid_for: int | None = None) -> QoSProfile:
    """`<agent>/action`: only the newest decision counts.

    Args:
        pace: realtime, lockstep or wall.
        period: offered by the publisher: nominal time between decisions [ns, wall time]. A subscription leaves it out,
            since a policy of another package may offer no deadline; the gate's watchdog does not depend on it.
        valid_for: offered by the publisher: an action undelivered for this long is dropped [ns, wall time]. Across
            machines their clocks must agree to a fraction of it.
    """
    return _decision(pace, period, valid_for)


def command(pace: str, period: int | None = None, valid_for: int | None = None) -> QoSProfile:
    """`<agent>/command`: what may be executed; arguments as of `action`."""
    return _decision(pace, period, valid_for)


def applied(pace: str) -> QoSProfile:
    """`<agent>/applied`: a record of what took effect."""
    return _events(pace, 10)


def status(pace: str) -> QoSProfile:
    """`<agent>/status`: several nodes of an agent publish here, so more than the last is kept."""
    return _events(pace, 10)


def safety_event(pace: str) -> QoSProfile:
    """`<agent>/safety_event`: rare, but in bursts, and each matters."""
    return _events(pace, 100)


def engagement_state(pace: str) -> QoSProfile:
    """`engagement/state`: latched, so that who joins late knows the episode; in lockstep no phase may be skipped."""
    return _latched(DEEP if _checked(pace) == LOCKSTEP else 1)


def layout(pace: str) -> QoSProfile:
    """`<agent>/observation_layout`: latched."""
    _checked(pace)
    return _latched(1)


def metadata(pace: str) -> QoSProfile:
    """`<agent>/policy_metadata`: latched."""
    _checked(pace)
    return _latched(1)


def markers(pace: str) -> QoSProfile:
    """`engagement/markers`: what RViz requests by default."""
    _checked(pace)
    return _reliable(10)


def diagnostics(pace: str) -> QoSProfile:
    """`/diagnostics`: what diagnostic tools request by default."""
    _checked(pace)
    return _reliable(10)


def clock(pace: str) -> QoSProfile:
    """`/clock` as published: reliable, which fits every kind of subscription."""
    _checked(pace)
    return _reliable(10)


def clock_heard(pace: str) -> QoSProfile:
    """`/clock` as subscribed to: best effort, as ROS's own time source, which fits every kind of publisher."""
    _checked(pace)
    return _best_effort(1)


def _sensor(pace: str) -> QoSProfile:
    if _checked(pace) == LOCKSTEP:
        return _reliable(DEEP)
    return _best_effort(SENSOR_DEPTH)


def _decision(pace: str, period: int | None, valid_for: int | None) -> QoSProfile:
    if _checked(pace) == LOCKSTEP:
        return _reliable(DEEP)
    profile = _reliable(1)
    if period is not None:
        profile.deadline = _duration("period", DEADLINE_PERIODS * period)
    if valid_for is not None:
        profile.lifespan = _duration("valid_for", valid_for)
    return profile


def _events(pace: str, depth: int) -> QoSProfile:
    return _reliable(DEEP if _checked(pace) == LOCKSTEP else depth)


def _best_effort(depth: int) -> QoSProfile:
    return _profile(depth, ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE)


def _reliable(depth: int) -> QoSProfile:
    return _profile(depth, ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE)


def _latched(depth: int) -> QoSProfile:
    return _profile(depth, ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL)


def _profile(depth: int, reliability: ReliabilityPolicy, durability: DurabilityPolicy) -> QoSProfile:
    """A profile that leaves nothing to the middleware's defaults."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=reliability,
        durability=durability,
        liveliness=LivelinessPolicy.AUTOMATIC,
    )


def _duration(name: str, nanoseconds: int) -> Duration:
    if nanoseconds <= 0:
        raise RosError(name, "must be positive", nanoseconds)
    return Duration(seconds=nanoseconds // _NS, nanoseconds=nanoseconds % _NS)


def _checked(pace: str) -> str:
    if pace not in PACES:
        raise RosError("pace", f"must be one of {', '.join(PACES)}", pace)
    return pace
