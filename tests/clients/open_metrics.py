"""Reads OpenMetrics text from standard input with the parser of the official Python client, which is strict.

Prints as JSON how many families there are, and of each bucket with an exemplar: name, labels, exemplar, value.
"""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

families, exemplars = 0, []
for family in text_string_to_metric_families(sys.stdin.read()):
    families += 1
    for sample in family.samples:
        if sample.exemplar:
            exemplars.append(
                {
                    "name": sample.name,
                    "labels": sample.labels,
                    "trace_id": sample.exemplar.labels["trace_id"],
                    "value": sample.exemplar.value,
                    "timestamp": float(sample.exemplar.timestamp),
                }
            )
print(json.dumps({"families": families, "exemplars": exemplars}))
