"""Recovers a bag whose recorder was killed, ran out of disk or lost power."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import yaml
from mcap.records import Attachment, Channel, Message, Metadata
from mcap.writer import CompressionType, Writer

from pe_ros.bag import metadata as metadata_file
from pe_ros.bag.index_check import index_is_right
from pe_ros.bag.metadata import NO_TIME, BagMetadata, TopicMetadata
from pe_ros.bag.provenance import COMPLETE, IN_PROGRESS, REPAIRED
from pe_ros.bag.scan import Damage, Survey, records, survey
from pe_ros.bag.storage_file import StorageFile, is_being_written, synchronise_directory
from pe_ros.bag.writer import PROVENANCE_RECORD, ROSBAG2_RECORD
from pe_sim.errors import BagError

DAMAGED_SUFFIX = ".damaged"
"""Ending of the name under which the damaged file lies until the repaired bag is complete."""
_COMPRESSIONS = {"": CompressionType.NONE, "lz4": CompressionType.LZ4, "zstd": CompressionType.ZSTD}


@dataclass(frozen=True)
class RepairReport:
    """What a repair found and did.

    Attributes:
        directory: the bag.
        messages: messages in the bag now.
        damage: where the MCAP file was not as it was written.
        rewrote_file: whether the MCAP file was written anew.
        rewrote_metadata: whether metadata.yaml was written anew.
    """

    directory: Path
    messages: int
    damage: tuple[Damage, ...]
    rewrote_file: bool
    rewrote_metadata: bool

    @property
    def was_healthy(self) -> bool:
        """Whether there was nothing to do."""
        return not self.rewrote_file and not self.rewrote_metadata


def repair_bag(directory: Path | str, *, keep_damaged: bool = False) -> RepairReport:
    """Recover all that can be trusted of a bag and make it complete; do nothing to a healthy bag.

    The damaged file stays untouched until the repaired one is on the disk; then it makes way under another name,
    and goes when the bag is complete. A repair that is interrupted at any point can be run again.

    Args:
        directory: the bag.
        keep_damaged: keep the damaged file, as ``<file>.damaged``.

    Raises:
        BagError: it is not a bag of one MCAP file, it is being recorded or repaired now, or the disk is full or
            cannot be written; the bag is then as it was.
    """
    directory = Path(directory)
    path = find_bag_file(directory)
    if is_being_written(path):
        raise BagError(str(directory), "is being recorded now", None, "stop its recorder first")
    found = survey(path)
    try:
        if found.healthy and index_is_right(path, found):
            return _complete(directory, path, found)
        _rewrite(path, found)
        report = _replace(directory, path, found)
    except OSError as error:
        rule = f"cannot be repaired: {error.strerror}; it is as it was"
        cure = f"make room for {path.stat().st_size / 1e6:.1f} MB on that disk, and check that it can be written"
        raise BagError(str(directory), rule, None, cure) from None
    if not keep_damaged:
        with contextlib.suppress(OSError):
            _damaged(path).unlink()
    return report


def find_bag_file(directory: Path) -> Path:
    """Return the MCAP file of a bag, whether or not its metadata can be read.

    An earlier repair that was interrupted while it exchanged the files is taken back.

    Raises:
        BagError: there is no such directory, no MCAP file in it, or more than one.
    """
    if not directory.is_dir():
        rule = "is not a directory; a bag is one" if directory.exists() else "does not exist"
        raise BagError(str(directory), rule)
    for damaged in directory.glob(f"*.mcap{DAMAGED_SUFFIX}"):
        original = damaged.with_suffix("")
        if not original.exists():
            damaged.rename(original)
    files = sorted(directory.glob("*.mcap"))
    if len(files) != 1:
        rule = "has no MCAP file: not a bag" if not files else "has several MCAP files; pe-ros reads bags of one"
        raise BagError(str(directory), rule, [file.name for file in files] or None)
    return files[0]


def _complete(directory: Path, path: Path, found: Survey) -> RepairReport:
    """Make metadata.yaml fit a healthy file."""
    present = _read_metadata(directory)
    custom_data = _custom_data(found, present)
    if custom_data.get("recording") == IN_PROGRESS:
        custom_data["recording"] = COMPLETE
    wanted = describe(path, found, custom_data, present)
    if present is not None and _says(present) == _says(wanted):
        return RepairReport(directory, wanted.message_count, (), rewrote_file=False, rewrote_metadata=False)
    metadata_file.write(directory, wanted)
    synchronise_directory(directory)
    _damaged(path).unlink(missing_ok=True)
    return RepairReport(directory, wanted.message_count, (), rewrote_file=False, rewrote_metadata=True)


def _says(metadata: BagMetadata) -> tuple[Any, ...]:
    return metadata.file, metadata.counts, metadata.custom_data.get("recording")


def describe(path: Path, found: Survey, custom_data: Mapping[str, str], present: BagMetadata | None) -> BagMetadata:
    """Return the metadata of a bag from what its file contains."""
    counts: dict[TopicMetadata, int] = {}
    known = {(topic.name, topic.type): topic for topic in (present.counts if present is not None else ())}
    for number, channel in found.channels.items():
        topic = _topic(channel, found)
        topic = known.get((topic.name, topic.type), topic)
        counts[topic] = counts.get(topic, 0) + found.counts[number]
    any_message = any(counts.values())
    return BagMetadata(
        file=path.name,
        counts=counts,
        start=found.start if any_message else NO_TIME,
        end=found.end if any_message else 0,
        custom_data=custom_data,
        ros_distro=present.ros_distro if present is not None else "",
    )


def _topic(channel: Channel, found: Survey) -> TopicMetadata:
    try:
        offered = metadata_file.parse_offered_qos(channel.metadata.get("offered_qos_profiles", ""))
    except BagError:
        offered = ()
    schema = found.schemas.get(channel.schema_id)
    type_hash = channel.metadata.get("topic_type_hash", "")
    return TopicMetadata(channel.topic, schema.name if schema is not None else "", offered, type_hash)


def _custom_data(found: Survey, present: BagMetadata | None) -> dict[str, str]:
    """Return the recorder's key-value pairs: from metadata.yaml, amended by the newest record in the file."""
    inside: Mapping[str, Any] = {}
    with contextlib.suppress(yaml.YAMLError, AttributeError, TypeError):
        text = found.metadata.get(ROSBAG2_RECORD, {}).get("serialized_metadata", "")
        inside = (yaml.safe_load(text) or {}).get("custom_data") or {}
    result = {str(key): str(value) for key, value in inside.items()}
    result.update(present.custom_data if present is not None else {})
    result.update(found.metadata.get(PROVENANCE_RECORD, {}))
    return result


def _rewrite(path: Path, found: Survey) -> None:
    """Write a file with all that can be trusted beside the damaged one."""
    target = _repaired(path)
    if is_being_written(target):
        raise BagError(str(path.parent), "is being repaired now", None, "wait for that repair")
    target.unlink(missing_ok=True)
    file = StorageFile(target)
    try:
        writer = Writer(
            cast("IO[Any]", file), compression=_COMPRESSIONS.get(found.compression or "zstd", CompressionType.ZSTD)
        )
        writer.start(profile="ros2", library="pe_ros")
        _copy(path, found, writer)
        writer.finish()
        file.synchronise()
    except BaseException:
        file.close()
        target.unlink(missing_ok=True)
        raise
    file.close()


def _copy(path: Path, found: Survey, writer: Writer) -> None:
    schemas = {number: writer.register_schema(s.name, s.encoding, s.data) for number, s in found.schemas.items()}
    channels = {
        number: writer.register_channel(c.topic, c.message_encoding, schemas.get(c.schema_id, 0), c.metadata)
        for number, c in found.channels.items()
    }
    present = _read_metadata(path.parent)
    custom_data = {**_custom_data(found, present), "recording": REPAIRED}
    for record in records(path):
        if isinstance(record, Message) and record.channel_id in channels:
            writer.add_message(
                channels[record.channel_id], record.log_time, record.data, record.publish_time, record.sequence
            )
        elif isinstance(record, Attachment):
            writer.add_attachment(record.create_time, record.log_time, record.name, record.media_type, record.data)
        elif isinstance(record, Metadata) and record.name not in {PROVENANCE_RECORD, ROSBAG2_RECORD}:
            writer.add_metadata(record.name, record.metadata)
    writer.add_metadata(PROVENANCE_RECORD, custom_data)
    serialized = metadata_file.serialized(describe(path, found, custom_data, present))
    writer.add_metadata(ROSBAG2_RECORD, {"serialized_metadata": serialized})


def _read_metadata(directory: Path) -> BagMetadata | None:
    try:
        return metadata_file.read(directory)
    except BagError:
        return None


def _replace(directory: Path, path: Path, found: Survey) -> RepairReport:
    """Let the repaired file take the place of the damaged one, then renew metadata.yaml."""
    present = _read_metadata(directory)
    custom_data = {**_custom_data(found, present), "recording": REPAIRED}
    path.rename(_damaged(path))
    try:
        _repaired(path).rename(path)
        wanted = describe(path, found, custom_data, present)
        metadata_file.write(directory, wanted)
    except OSError:
        _damaged(path).replace(path)
        raise
    synchronise_directory(directory)
    return RepairReport(directory, wanted.message_count, tuple(found.damage), rewrote_file=True, rewrote_metadata=True)


def _damaged(path: Path) -> Path:
    return path.with_name(path.name + DAMAGED_SUFFIX)


def _repaired(path: Path) -> Path:
    return path.with_name(f".{path.name}.repaired")
