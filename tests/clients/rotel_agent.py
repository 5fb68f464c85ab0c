"""Runs Rotel, a collector that is not ours: prints every span that it takes.

Usage: rotel_agent.py GRPC_PORT HTTP_PORT
"""

import os
import sys

import rotel

agent = os.path.join(os.path.dirname(rotel.__file__), "rotel-agent")
grpc, http = sys.argv[1:]
os.execv(
    agent,
    [
        agent,
        "start",
        "--otlp-grpc-endpoint",
        "127.0.0.1:" + grpc,
        "--otlp-http-endpoint",
        "127.0.0.1:" + http,
        "--exporter",
        "blackhole",
        "--debug-log",
        "traces",
        "--debug-log-verbosity",
        "detailed",
    ],
)
