"""Benchmarks of the ROS room."""
