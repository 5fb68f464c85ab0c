"""scripts/pin-images against a registry that asks for a token, as Docker Hub does; and against one that has no such image.

The last line is JSON for the Rust test that started it.
"""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "pin-images"
DIGESTS = {"rust": "sha256:" + "1" * 64, "debian": "sha256:" + "2" * 64}


class Registry(BaseHTTPRequestHandler):
    has_images = True

    def do_HEAD(self):
        scope = self.path.split("/v2/")[1].split("/manifests/")[0]
        if self.headers.get("Authorization") != f"Bearer for {scope}":
            self.send_response(401)
            at = f"http://{self.headers['Host']}/token"
            self.send_header("WWW-Authenticate", f'Bearer realm="{at}",service="here",scope="{scope}"')
        elif self.has_images and "index" in self.headers["Accept"]:
            self.send_response(200)
            self.send_header("Docker-Content-Digest", DIGESTS[scope.removeprefix("library/")])
        else:
            self.send_response(404)
        self.end_headers()

    def do_GET(self):
        scope = self.path.split("scope=")[1].replace("%2F", "/")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"token": f"for {scope}"}).encode())

    def log_message(self, *_):
        pass


def pinned():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {**os.environ, "SMSC_REGISTRY": f"http://127.0.0.1:{server.server_port}"}
    said = subprocess.run([SCRIPT], env=environment, capture_output=True, text=True)
    server.shutdown()
    return said


def main():
    said = pinned()
    lines = said.stdout.splitlines()
    wrong = [] if said.returncode == 0 and len(lines) == 2 else [f"{said}"]
    for line, (name, digest) in zip(lines, DIGESTS.items()):
        if not (line.startswith("--build-arg ") and f"={name}:" in line and line.endswith(f"@{digest}")):
            wrong.append(line)
    Registry.has_images = False
    said = pinned()
    if said.returncode == 0 or "404" not in said.stderr or "Traceback" in said.stderr:
        wrong.append(f"without images: {said}")
    print(*wrong, json.dumps({"lines": len(lines)}), sep="\n")
    sys.exit(bool(wrong))


main()
