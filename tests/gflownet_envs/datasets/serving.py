"""Files over HTTP on this machine, and what the tests of data sets share."""

import hashlib
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


def as_bytes(content):
    return content.encode("utf-8") if isinstance(content, str) else content


def sha256(content):
    return hashlib.sha256(as_bytes(content)).hexdigest()


def real_file(name):
    """Path of a file of the real data, or a visible skip."""
    folder = os.environ.get("SKPCE_DATA")
    path = Path(folder or "").expanduser() / name
    if not folder or not path.is_file():
        pytest.skip(f"SKPCE_DATA is not set to a folder with {name}")
    return path


@contextmanager
def serve(answers):
    """Serve bodies in turn, the last for ever; None is an internal error."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = answers[min(len(requests), len(answers) - 1)]
            requests.append(self.path)
            self.send_response(500 if body is None else 200)
            payload = as_bytes(body or "")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
