"""A small server that speaks the part of the Hugging Face hub's API by which data sets are read."""

import contextlib
import hashlib
import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

REVISION = "0123456789abcdef0123456789abcdef01234567"
LATER_REVISION = "89abcdef0123456789abcdef0123456789abcdef"


@dataclass
class HubServer:
    """Serves the data sets in a folder: FOLDER/OWNER/NAME/files."""

    folder: Path
    gated: set[str] = field(default_factory=set)
    token: str = "hf_right"
    delay_s: float = 0.0
    """Before each piece of a file."""
    requests: list[str] = field(default_factory=list)
    later: Path | None = None
    """Folder with what the data sets have become; it is the newest revision from then on."""
    failing: int | None = None
    """Status with which everything is refused."""
    breaks_at: str | None = None
    """File at which the connection breaks off."""
    num_bytes: int = 0
    """Sent so far."""

    def __enter__(self) -> "HubServer":
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body of an answer are sent apart; the second would wait for the first to be confirmed.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                hub._answer(self)

            do_HEAD = do_POST = do_GET  # noqa: N815 - the library's names

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length) if length else b""
        url = urlsplit(request.path)
        path = unquote(url.path)
        self.requests.append(f"{request.command} {path}")
        match = re.match(r"/(?:api/)?datasets/([^/]+/[^/]+)(?:/(.*))?$", path)
        if match is None:
            self._send(request, 404, b"")
            return
        name, rest = match[1], match[2] or ""
        if self.breaks_at is not None and rest.endswith(self.breaks_at):
            request.close_connection = True
        elif self.failing is not None:
            self._send(request, self.failing, b"")
        elif request.headers.get("Authorization", f"Bearer {self.token}") != f"Bearer {self.token}":
            self._send(request, 401, b'{"error":"Invalid credentials in Authorization header"}')
        elif not (self.folder / name).is_dir():
            self._send(request, 404, b'{"error":"Repository not found"}', {"X-Error-Code": "RepoNotFound"})
        elif name in self.gated and request.headers.get("Authorization") != f"Bearer {self.token}":
            if path.startswith("/api/") and not rest.startswith(("tree", "paths-info")):
                self._send_json(request, self._info(name))
                return
            message = f"Access to dataset {name} is restricted. You must have access to it and be authenticated."
            headers = {"X-Error-Code": "GatedRepo", "X-Error-Message": message}
            self._send(request, 401, json.dumps({"error": message}).encode(), headers)
        elif path.startswith("/api/"):
            self._answer_api(request, name, rest, body, parse_qs(url.query))
        else:
            self._send_file(request, name, rest)

    def _answer_api(
        self, request: BaseHTTPRequestHandler, name: str, rest: str, body: bytes, query: dict[str, Any]
    ) -> None:
        if rest.startswith("tree/"):
            revision, _, folder = rest.removeprefix("tree/").partition("/")
            entries = self._entries(
                name, folder, revision, recursive=query.get("recursive", ["False"])[0].lower() == "true"
            )
            if entries is None:
                self._send(request, 404, b'{"error":"Entry not found"}', {"X-Error-Code": "EntryNotFound"})
            else:
                self._send_json(request, entries)
        elif rest.startswith("paths-info/"):
            if request.headers.get("Content-Type", "").startswith("application/json"):
                paths = json.loads(body)["paths"]
            else:
                paths = parse_qs(body.decode())["paths"]
            everything = {
                entry["path"]: entry for entry in self._entries(name, "", rest.split("/")[1], recursive=True) or []
            }
            self._send_json(request, [everything[one] for one in paths if one in everything])
        elif rest == "" or rest.startswith("revision/"):
            revision = rest.removeprefix("revision/") or "main"
            if self._root(name, revision) is not None:
                self._send_json(request, self._info(name, revision))
            else:
                self._send(request, 404, b'{"error":"Invalid rev id"}', {"X-Error-Code": "RevisionNotFound"})
        else:
            self._send(request, 404, b"")

    def _root(self, name: str, revision: str) -> Path | None:
        """Return the folder of a revision."""
        if revision == "main":
            return (self.later or self.folder) / name
        if revision == LATER_REVISION and self.later is not None:
            return self.later / name
        return self.folder / name if revision == REVISION else None

    def _commit(self, revision: str) -> str:
        return REVISION if revision == REVISION or self.later is None else LATER_REVISION

    def _info(self, name: str, revision: str = "main") -> dict[str, Any]:
        files = self._entries(name, "", revision, recursive=True) or []
        siblings = [{"rfilename": entry["path"]} for entry in files if entry["type"] == "file"]
        return {
            "id": name, "_id": "1", "sha": self._commit(revision), "private": False, "disabled": False,
            "siblings": siblings,
            "gated": "auto" if name in self.gated else False, "tags": [], "downloads": 0, "likes": 0,
            "cardData": {"license": ["cc0-1.0", "odc-by"]},
            "lastModified": "2026-01-01T00:00:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z", "author": "a",
        }  # fmt: skip

    def _entries(self, name: str, folder: str, revision: str, *, recursive: bool) -> list[dict[str, Any]] | None:
        root = self._root(name, revision)
        if root is None or not (root / folder).is_dir():
            return None
        place = root / folder
        entries = []
        for path in sorted(place.rglob("*") if recursive else place.iterdir()):
            relative = path.relative_to(root).as_posix()
            digest = hashlib.sha1(relative.encode()).hexdigest()
            if path.is_dir():
                entries.append({"type": "directory", "oid": digest, "size": 0, "path": relative})
            else:
                entries.append({"type": "file", "oid": digest, "size": path.stat().st_size, "path": relative})
        return entries

    def _send_file(self, request: BaseHTTPRequestHandler, name: str, rest: str) -> None:
        match = re.match(r"resolve/([^/]+)/(.*)$", rest)
        root = self._root(name, match[1]) if match is not None else None
        if match is None or root is None:
            self._send(request, 404, b"", {"X-Error-Code": "RevisionNotFound"})
            return
        commit = self._commit(match[1])
        file = root / match[2]
        if not file.is_file():
            self._send(request, 404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
            return
        data = file.read_bytes()
        headers = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        wanted = re.match(r"bytes=(\d+)-(\d*)", request.headers.get("Range") or "")
        if wanted is None:
            self._send(request, 200, data, headers)
            return
        start, end = int(wanted[1]), min(int(wanted[2] or len(data) - 1), len(data) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(data)}"
        self._send(request, 206, data[start : end + 1], headers)

    def _send_json(self, request: BaseHTTPRequestHandler, document: object) -> None:
        self._send(request, 200, json.dumps(document).encode(), {"Content-Type": "application/json"})

    def _send(
        self, request: BaseHTTPRequestHandler, code: int, data: bytes, headers: dict[str, str] | None = None
    ) -> None:
        request.send_response(code)
        for key, value in (headers or {}).items():
            request.send_header(key, value)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        if request.command == "HEAD":
            return
        if self.delay_s:
            time.sleep(self.delay_s)
        # The client may have been killed.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            request.wfile.write(data)
            self.num_bytes += len(data)
