"""Checks a bill of materials of scripts/sbom, read from standard input, against the schema of CycloneDX 1.6.

The last line is JSON: the names of its components, and the licences that are no expressions of SPDX.
"""

import json
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from license_expression import get_spdx_licensing

text = sys.stdin.read()
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
if error:
    print(error)
bill = json.loads(text)
licensing = get_spdx_licensing()
wrong = {}
for component in bill["components"]:
    for licence in component["licenses"]:
        if "expression" in licence and licensing.validate(licence["expression"]).errors:
            wrong[component["name"]] = licence["expression"]
known = {component["bom-ref"] for component in [*bill["components"], bill["metadata"]["component"]]}
loose = [
    ref
    for one in bill["dependencies"]
    for ref in [one["ref"], *one["dependsOn"]]
    if ref not in known
]
print(
    json.dumps(
        {
            "components": [f"{one['name']} {one['version']}" for one in bill["components"]],
            "licences": wrong,
            "loose": loose,
        }
    )
)
sys.exit(bool(error))
