"""Reads a bag's messages without ROS, decoded by the definitions inside the bag."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcap.exceptions import McapError
from mcap.reader import McapReader, make_reader
from mcap_ros2.decoder import DecoderFactory

from pe_ros.bag import metadata as metadata_file
from pe_ros.bag.chunks import DECOMPRESSION_ERRORS, PARSE_ERRORS
from pe_ros.bag.metadata import BagMetadata
from pe_ros.bag.provenance import Provenance
from pe_ros.bag.storage_file import is_being_written
from pe_ros.bag.writer import ENGAGEMENT_ATTACHMENT
from pe_sim.errors import BagError

_READ_ERRORS = (McapError, *PARSE_ERRORS, *DECOMPRESSION_ERRORS)


@dataclass(frozen=True)
class RecordedMessage:
    """A message out of a bag.

    Attributes:
        topic: resolved topic name.
        type_name: message type, ``package/msg/Name``.
        log_time: when it was received [ns].
        publish_time: when it was published [ns].
        sequence: number given by the publisher's middleware, 0 where unknown.
        message: fields as attributes, named as in the message definition.
    """

    topic: str
    type_name: str
    log_time: int
    publish_time: int
    sequence: int
    message: Any


class BagReader:
    """A complete bag of one MCAP file.

    Attributes:
        directory: the bag.
        path: its MCAP file.
        metadata: what metadata.yaml says.
        provenance: what the bag says of its engagement.
    """

    def __init__(self, directory: Path | str) -> None:
        """Read the bag's metadata and check that the MCAP file is complete.

        Raises:
            BagError: not a bag, a damaged one, or one that is being recorded; the error says what to do.
        """
        self.directory = Path(directory)
        if not self.directory.is_dir():
            rule = "is not a directory; a bag is one" if self.directory.exists() else "does not exist"
            raise BagError(str(directory), rule, None, "name the bag's directory")
        self.metadata: BagMetadata = metadata_file.read(self.directory)
        self.provenance = Provenance.from_custom_data(self.metadata.custom_data)
        self.path = self.directory / Path(self.metadata.file).name
        if not self.path.is_file():
            raise BagError(str(self.directory), f"has no {self.path.name}, which its metadata names")
        self._check_complete()

    def messages(
        self,
        topics: Collection[str] | None = None,
        types: Collection[str] | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> Iterator[RecordedMessage]:
        """Yield decoded messages in order of their log times.

        Args:
            topics: topic names; None for all.
            types: message types, ``package/msg/Name``; None for all.
            start: earliest log time [ns].
            end: log time before which to stop [ns].

        Raises:
            BagError: the bag is damaged.
        """
        wanted = self.topics_of(topics, types)
        if not wanted:
            return
        try:
            with self.path.open("rb") as file:
                reader = make_reader(file, decoder_factories=[DecoderFactory()])
                for schema, channel, message, decoded in reader.iter_decoded_messages(wanted, start, end):
                    type_name = schema.name if schema is not None else ""
                    yield RecordedMessage(
                        channel.topic, type_name, message.log_time, message.publish_time, message.sequence, decoded
                    )
        except _READ_ERRORS as error:
            raise self._damaged(error) from None

    def topics_of(self, topics: Collection[str] | None, types: Collection[str] | None) -> list[str]:
        """Return the names of the bag's topics that are among the topics and of the types asked for."""
        return [
            topic.name
            for topic in self.metadata.counts
            if (topics is None or topic.name in topics) and (types is None or topic.type in types)
        ]

    def engagement_file(self) -> str:
        """Return the text of the resolved engagement file in the bag, or ''.

        Raises:
            BagError: the bag is damaged.
        """
        text = self.provenance.engagement_file
        try:
            with self.path.open("rb") as file:
                for attachment in make_reader(file).iter_attachments():
                    if attachment.name == ENGAGEMENT_ATTACHMENT:
                        text = attachment.data.decode("utf-8")
        except _READ_ERRORS as error:
            raise self._damaged(error) from None
        return text

    def _check_complete(self) -> None:
        try:
            with self.path.open("rb") as file:
                reader: McapReader = make_reader(file)
                summary = reader.get_summary()
        except OSError as error:
            raise BagError(str(self.path), f"cannot be read: {error.strerror}") from None
        except _READ_ERRORS as error:
            raise self._damaged(error) from None
        if summary is None or summary.statistics is None:
            raise self._damaged(None)

    def _damaged(self, error: Exception | None) -> BagError:
        if is_being_written(self.path):
            return BagError(str(self.directory), "is being recorded now", None, "stop its recorder first")
        reason = f" ({type(error).__name__}: {error})" if error is not None and str(error) else ""
        rule = f"is damaged: its recorder was killed or ran out of disk{reason}"
        return BagError(str(self.directory), rule, None, f"run: pe-ros bag repair {self.directory}")
