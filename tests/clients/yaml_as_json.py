"""Reads YAML from standard input and prints it as one line of JSON."""

import json
import sys

import yaml

print(json.dumps(yaml.safe_load(sys.stdin)))
