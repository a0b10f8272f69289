"""Bags: what an engagement leaves on disk, written so that a killed recorder loses at most a second.

A bag is a rosbag2 directory: ``metadata.yaml`` and one MCAP file with the message definitions inside. Everything here
but ``taps``, ``discovery``, ``graph_recorder``, ``log_time``, ``provenance_collector`` and ``recorder_parameters``
(the recorder node's parts) works without ROS, as a bag is read on other machines than it was recorded on.
"""
