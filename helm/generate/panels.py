"""Grafana's JSON from few words: panels that flow from left to right, variables, a dashboard.

Every panel has a description: it is what the person on call reads.
"""

PROMETHEUS = {"type": "prometheus", "uid": "${datasource}"}
TEMPO = {"type": "tempo", "uid": "${tempo}"}
WIDTH = 24

GREEN, YELLOW, ORANGE, RED, BLUE, GREY = "green", "yellow", "orange", "red", "blue", "text"


def steps(*values):
    """Thresholds: a colour, then pairs of a value and the colour from it on."""
    colours = [{"color": values[0], "value": None}]
    for value, colour in zip(values[1::2], values[2::2]):
        colours.append({"color": colour, "value": value})
    return {"mode": "absolute", "steps": colours}


# Histograms whose buckets name a traced message: its points lead to the trace.
TRACED = [
    f"smsc_{name}_seconds_bucket" for name in ("attempt", "ingest", "message", "receipt")
]
# Of what should be zero.
IS_BAD = steps(GREEN, 1, RED)


def target(expr, legend="", instant=False, kind="time_series"):
    return {
        "datasource": PROMETHEUS,
        "expr": expr,
        "legendFormat": legend or "__auto",
        "instant": instant,
        "range": not instant,
        "format": kind,
    }


def panel(kind, title, description, targets, w, h, **more):
    if targets and any(name in targets[0]["expr"] for name in TRACED):
        # Once a panel: every line would show the same ones.
        targets = [{**targets[0], "exemplar": True}, *targets[1:]]
    lettered = [{**one, "refId": chr(ord("A") + at)} for at, one in enumerate(targets)]
    return {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": PROMETHEUS,
        "targets": lettered,
        "gridPos": {"w": w, "h": h},
        **more,
    }


def stat(
    title,
    expr,
    description,
    unit="short",
    colours=None,
    w=3,
    h=4,
    decimals=None,
    spark=True,
    mappings=None,
):
    """One large number, with its recent past behind it."""
    defaults = {"unit": unit, "thresholds": colours or steps(BLUE), "mappings": mappings or []}
    if decimals is not None:
        defaults["decimals"] = decimals
    return panel(
        "stat",
        title,
        description,
        [target(expr)],
        w,
        h,
        fieldConfig={
            "defaults": {**defaults, "color": {"mode": "thresholds"}, "noValue": "–"},
            "overrides": [],
        },
        options={
            "colorMode": "background_solid" if colours else "value",
            "graphMode": "area" if spark else "none",
            "justifyMode": "center",
            "textMode": "value",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        },
    )


def graph(
    title,
    description,
    *lines,
    unit="short",
    stack=False,
    w=12,
    h=8,
    colours=None,
    limits=None,
    points=False,
    bars=False,
    below_zero=False,
):
    """Lines over time; `lines` are pairs of expression and legend, `colours` by legend."""
    custom = {
        "drawStyle": "bars" if bars else "line",
        "lineWidth": 1 if stack or bars else 2,
        "fillOpacity": 60 if bars else 35 if stack else 8,
        "gradientMode": "opacity",
        "showPoints": "auto" if points else "never",
        "spanNulls": False,
        "stacking": {"mode": "normal" if stack else "none", "group": "A"},
        "axisSoftMin": 0,
        "thresholdsStyle": {"mode": "dashed" if limits else "off"},
    }
    overrides = [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": colour}}],
        }
        for name, colour in (colours or {}).items()
    ]
    return panel(
        "timeseries",
        title,
        description,
        [target(*line) for line in lines],
        w,
        h,
        fieldConfig={
            "defaults": {
                "unit": unit,
                **({} if below_zero else {"min": 0}),
                "custom": custom,
                "color": {"mode": "palette-classic"},
                "thresholds": limits or steps(GREEN),
            },
            "overrides": overrides,
        },
        options={
            "legend": {
                "displayMode": "table",
                "placement": "bottom",
                "calcs": ["lastNotNull", "max"],
                "showLegend": True,
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    )


def heatmap(title, description, expr, w=12, h=8, unit="s"):
    """A histogram over time."""
    return panel(
        "heatmap",
        title,
        description,
        [{**target(expr, "{{le}}"), "format": "heatmap"}],
        w,
        h,
        options={
            "calculate": False,
            "cellGap": 1,
            "cellValues": {"unit": "short"},
            "color": {
                "mode": "scheme",
                "scheme": "Turbo",
                "steps": 64,
                "exponent": 0.5,
                "reverse": False,
                "fill": "dark-blue",
            },
            "yAxis": {"unit": unit, "axisPlacement": "left"},
            "tooltip": {"mode": "single", "yHistogram": True},
            "legend": {"show": True},
            "rowsFrame": {"layout": "auto"},
            "filterValues": {"le": 1e-9},
        },
        fieldConfig={"defaults": {}, "overrides": []},
    )


def timeline(title, description, expr, legend, mappings, w=24, h=6):
    """Coloured bars that show since when something is as it is."""
    return panel(
        "state-timeline",
        title,
        description,
        [target(expr, legend)],
        w,
        h,
        fieldConfig={
            "defaults": {
                "mappings": mappings,
                "color": {"mode": "thresholds"},
                "thresholds": steps(GREY),
                "custom": {"fillOpacity": 80, "lineWidth": 0},
            },
            "overrides": [],
        },
        options={
            "mergeValues": True,
            "showValue": "never",
            "rowHeight": 0.85,
            "legend": {"showLegend": True, "displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "single"},
        },
    )


def table(title, description, key, columns, w=24, h=8):
    """Rows by the label `key`; columns are (title, expression, unit, thresholds or None)."""
    shown = {"Time": True}
    names = {key: key.capitalize()}
    overrides = []
    for at, (name, _, unit, colours) in enumerate(columns):
        letter = chr(ord("A") + at)
        names[f"Value #{letter}"] = name
        properties = [{"id": "unit", "value": unit}]
        if colours:
            properties += [
                {"id": "thresholds", "value": colours},
                {
                    "id": "custom.cellOptions",
                    "value": {"type": "color-background", "mode": "basic"},
                },
            ]
        overrides.append({"matcher": {"id": "byName", "options": name}, "properties": properties})
    return panel(
        "table",
        title,
        description,
        [target(expr, instant=True, kind="table") for _, expr, _, _ in columns],
        w,
        h,
        transformations=[
            {"id": "merge", "options": {}},
            {
                "id": "organize",
                "options": {"excludeByName": shown, "renameByName": names, "indexByName": {}},
            },
        ],
        fieldConfig={
            "defaults": {"custom": {"align": "auto", "filterable": True}, "noValue": "–"},
            "overrides": overrides,
        },
        options={
            "showHeader": True,
            "cellHeight": "sm",
            "sortBy": [{"displayName": columns[0][0], "desc": True}],
        },
    )


def text(content, w=24, h=6, title=""):
    return {
        "type": "text",
        "title": title,
        "gridPos": {"w": w, "h": h},
        "transparent": not title,
        "options": {"mode": "markdown", "content": content},
    }


def traces(title, description, query, w=12, h=8):
    """Traces that TraceQL finds; their ids lead into this dashboard and into Explore."""
    here = {
        "title": "Show here",
        "url": "/d/smsc-message?${__url_time_range}&var-tempo=${tempo}&var-message_id=${message_id}"
        "&var-trace_id=${__value.raw}",
    }
    explore = {
        "title": "Open in Explore",
        "url": '/explore?schemaVersion=1&orgId=1&panes={"a":{"datasource":"${tempo}","queries":[{"refId":"A",'
        '"queryType":"traceql","query":"${__value.raw}","datasource":{"type":"tempo","uid":"${tempo}"}}],'
        '"range":{"from":"${__from}","to":"${__to}"}}}',
        "targetBlank": True,
    }
    return {
        "type": "table",
        "title": title,
        "description": description,
        "datasource": TEMPO,
        "gridPos": {"w": w, "h": h},
        "targets": [
            {
                "refId": "A",
                "datasource": TEMPO,
                "queryType": "traceql",
                "query": query,
                "tableType": "traces",
                "limit": 20,
            }
        ],
        "fieldConfig": {
            "defaults": {"custom": {"align": "auto"}, "noValue": "none found"},
            "overrides": [
                {
                    "matcher": {"id": "byName", "options": "traceID"},
                    "properties": [{"id": "links", "value": [here, explore]}],
                }
            ],
        },
        "options": {"showHeader": True, "cellHeight": "sm"},
    }


def trace(title, query, w=24, h=14):
    """One trace as a waterfall."""
    return {
        "type": "traces",
        "title": title,
        "description": "Every step of the message over all nodes, with its times and the operator's answers.",
        "datasource": TEMPO,
        "gridPos": {"w": w, "h": h},
        "targets": [{"refId": "A", "datasource": TEMPO, "queryType": "traceql", "query": query}],
    }


def alerts(title, w=8, h=8):
    """What is firing now, from the series that Prometheus keeps of its alerts."""
    firing = 'sum by (severity, alertname, name, queue, actor, instance) (ALERTS{alertname=~"Smsc.*",alertstate="firing"})'
    colours = {"critical": RED, "warning": ORANGE, "info": BLUE}
    severity = [
        {
            "id": "mappings",
            "value": [
                {
                    "type": "value",
                    "options": {
                        name: {"color": colour, "text": name} for name, colour in colours.items()
                    },
                }
            ],
        },
        {"id": "custom.cellOptions", "value": {"type": "color-background", "mode": "basic"}},
        {"id": "custom.width", "value": 90},
    ]
    return panel(
        "table",
        title,
        "Alerts that are firing. Each has its section in docs/runbooks.md.",
        [target(firing, instant=True, kind="table")],
        w,
        h,
        transformations=[
            {
                "id": "organize",
                "options": {
                    "excludeByName": {"Time": True, "Value": True},
                    "indexByName": {
                        "severity": 0,
                        "alertname": 1,
                        "name": 2,
                        "queue": 3,
                        "actor": 4,
                        "instance": 5,
                    },
                    "renameByName": {
                        "severity": "Severity",
                        "alertname": "Alert",
                        "name": "Peer",
                        "queue": "Queue",
                        "actor": "Actor",
                        "instance": "Node",
                    },
                },
            }
        ],
        fieldConfig={
            "defaults": {"custom": {"align": "auto"}, "noValue": "nothing is firing"},
            "overrides": [
                {"matcher": {"id": "byName", "options": "Severity"}, "properties": severity}
            ],
        },
        options={"showHeader": True, "cellHeight": "sm"},
    )


def row(title):
    return {
        "type": "row",
        "title": title,
        "collapsed": False,
        "panels": [],
        "gridPos": {"w": WIDTH, "h": 1},
    }


def choice(name, label, query, depends="", multi=True):
    """A variable with the values of a label."""
    return {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": PROMETHEUS,
        "query": {
            "query": f"label_values({depends or 'smsc_draining'}, {query})",
            "refId": "variable",
        },
        "definition": f"label_values({depends or 'smsc_draining'}, {query})",
        "refresh": 2,
        "sort": 1,
        "multi": multi,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "options": [],
        "hide": 0,
        "regex": "",
        "skipUrlSync": False,
    }


def source(name, label, kind):
    return {
        "type": "datasource",
        "name": name,
        "label": label,
        "query": kind,
        "refresh": 1,
        "regex": "",
        "hide": 0,
        "multi": False,
        "includeAll": False,
        "options": [],
        "current": {},
    }


def box(name, label, value=""):
    """A variable to type into."""
    return {
        "type": "textbox",
        "name": name,
        "label": label,
        "query": value,
        "current": {"text": value, "value": value},
        "options": [{"selected": True, "text": value, "value": value}],
        "hide": 0,
    }


def dashboard(uid, title, description, variables, panels, since="now-3h", refresh="30s"):
    """Places the panels and adds what all dashboards have."""
    placed, x, y, tall = [], 0, 0, 0
    for number, one in enumerate(panels, 1):
        size = one["gridPos"]
        if x + size["w"] > WIDTH:
            x, y, tall = 0, y + tall, 0
        placed.append({**one, "id": number, "gridPos": {**size, "x": x, "y": y}})
        x, tall = x + size["w"], max(tall, size["h"])
    return {
        "uid": uid,
        "title": title,
        "description": description,
        "tags": ["smsc"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "browser",
        "refresh": refresh,
        "time": {"from": since, "to": "now"},
        "links": [
            {
                "type": "dashboards",
                "title": "SMSC",
                "tags": ["smsc"],
                "asDropdown": True,
                "includeVars": True,
                "keepTime": True,
                "icon": "external link",
                "targetBlank": False,
            }
        ],
        "annotations": {
            "list": [
                {
                    "name": "Alerts",
                    "enable": True,
                    "iconColor": RED,
                    "datasource": PROMETHEUS,
                    "expr": 'sum by (alertname) (ALERTS{alertname=~"Smsc.*",alertstate="firing"})',
                    "titleFormat": "{{alertname}}",
                    "step": "60s",
                }
            ]
        },
        "templating": {"list": variables},
        "panels": placed,
    }
