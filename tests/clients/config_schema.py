"""Checks that /v1/config/schema is JSON Schema, and that what the SMSC shows of its configuration fits it.

usage: config_schema.py BASE TOKEN
"""

import json
import sys
import urllib.request

from jsonschema import Draft202012Validator

base, token = sys.argv[1:3]


def get(path):
    request = urllib.request.Request(base + path, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def without_nulls(value):
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    return value


whole = get("/v1/config")
checked = {}
for kind in get("/v1/config/schema")["kinds"]:
    Draft202012Validator.check_schema(kind["schema"])
    validator = Draft202012Validator(kind["schema"])
    for one in whole[kind["plural"]]:
        validator.validate(without_nulls(one))
    # Every default fits its own key, and what is wrong does not.
    for key, schema in kind["schema"]["properties"].items():
        if "default" in schema:
            Draft202012Validator(schema).validate(schema["default"])
        assert schema["description"], key
    assert not validator.is_valid({"nonsense": 1}), kind["kind"]
    checked[kind["plural"]] = len(whole[kind["plural"]])
    named = kind["path"]
    assert named.startswith("/v1/") and get(named), named
print(json.dumps({"event": "checked", "kinds": checked}))
