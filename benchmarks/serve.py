"""How quick the pages of ``whyodd serve`` are while it learns: ``python benchmarks/serve.py``.

Many clients read findings (the list, a search, rows), a page every half second each, while a large table is
being read, learned and explained. Prints latencies at rest and during it, CPU for each page, and memory.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import psutil

from whyodd.web.limits import Limits

MEGABYTE = 1_000_000


def table(rows: int, columns: int, seed: int = 0) -> pl.DataFrame:
    """Numbers that go together, with a few that do not."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=rows)
    values = {f"c{i}": common + rng.normal(size=rows) for i in range(columns)}
    values["c0"][::1000] += 15.0
    return pl.DataFrame(values)


class Client:
    """Somebody with a browser, over a connection that is kept."""

    def __init__(self, address: str) -> None:
        self.host, self.token = re.match(r"http://([^/]+)/\?token=(\S+)", address).groups()
        self.cookie, self.reader, self.writer = "", None, None

    async def ask(self, method: str, path: str, body: bytes = b"", kind: str = "") -> tuple[int, dict, str]:
        """Status, headers and text of an answer."""
        host, port = self.host.split(":")
        if self.writer is None or method == "POST":  # which may come after a long silence
            self.reader, self.writer = await asyncio.open_connection(host, int(port))
        head = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", f"Cookie: {self.cookie}"]
        if method == "POST":
            head += [f"Origin: http://{self.host}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        self.writer.write("\r\n".join([*head, "", ""]).encode() + body)
        await self.writer.drain()
        first = await self.reader.readline()
        if not first:  # the server has closed a connection that was silent
            self.writer = None
            return await self.ask(method, path, body, kind)
        status = int(first.split()[1])
        headers = {}
        while (line := await self.reader.readline()) != b"\r\n":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        text = (await self.reader.readexactly(int(headers["content-length"]))).decode()
        if headers.get("connection") == "close":
            self.writer.close()
            self.writer = None
        return status, headers, text

    async def come_in(self) -> Client:
        """Exchange the token for a cookie."""
        _, headers, _ = await self.ask("GET", f"/?token={self.token}")
        self.cookie = headers["set-cookie"].partition(";")[0]
        _, _, text = await self.ask("GET", "/")
        self.csrf = re.search('name="csrf" value="([^"]+)"', text)[1]
        return self

    async def upload(self, frame: pl.DataFrame) -> str:
        """Send a table; the address of its columns."""
        content = io.BytesIO()
        frame.write_parquet(content)
        head = f'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{self.csrf}\r\n'
        head += '--b\r\nContent-Disposition: form-data; name="file"; filename="t.parquet"\r\n\r\n'
        body = head.encode() + content.getvalue() + b"\r\n--b--\r\n"
        _, headers, _ = await self.ask("POST", "/files", body, "multipart/form-data; boundary=b")
        return headers["location"]

    async def find(self, file: str) -> str:
        """Begin to look for what is odd; the address of the work."""
        body = f"csrf={self.csrf}".encode()
        _, headers, _ = await self.ask("POST", f"{file}/find", body, "application/x-www-form-urlencoded")
        return headers["location"]

    async def finished(self, path: str) -> str:
        """Wait until work is done; where it leads to."""
        while True:
            status, headers, text = await self.ask("GET", path)
            if status == 303:
                path = headers["location"]
            elif "<progress" not in text:
                return path
            await asyncio.sleep(0.2)


async def reading(
    client: Client, findings: str, rows: list[str], until: asyncio.Event, seen: list[float]
) -> None:
    """Read findings over and over."""
    paths = [findings, f"{findings}?q=c0&sort=name", *(f"{findings}/rows/{row}" for row in rows)]
    place = 0
    while not until.is_set():
        began = time.perf_counter()
        status, _, _ = await client.ask("GET", paths[place % len(paths)])
        seen.append(time.perf_counter() - began)
        assert status == 200, status
        place += 1
        await asyncio.sleep(0.5)  # people read what they see


def told(name: str, seen: list[float], seconds: float) -> None:
    at = np.percentile(np.array(seen) * 1000, [50, 99, 100])
    print(f"{name:<16} {len(seen):6,} pages: median {at[0]:.0f} ms, 99 % {at[1]:.0f} ms, most {at[2]:.0f} ms")
    print(f"{'':<16} {1000 * seconds / len(seen):.1f} ms of the server's CPU for each")


def cpu_of(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


async def memory(server: psutil.Process, until: asyncio.Event, most: dict[str, int]) -> None:
    while not until.is_set():
        most["server"] = max(most["server"], server.memory_info().rss)
        for child in server.children():
            most["worker"] = max(most["worker"], child.memory_info().rss)
        await asyncio.sleep(0.2)


async def measured(address: str, process: int, options: argparse.Namespace) -> None:
    owner = await Client(address).come_in()
    small = await owner.finished(await owner.upload(table(2_000, 10)))
    findings = await owner.finished(await owner.find(small))
    _, _, text = await owner.ask("GET", findings)
    rows = re.findall(r"/rows/(\d+)", text)[:5]
    clients = [await Client(address).come_in() for _ in range(options.clients)]

    server = psutil.Process(process)
    rest, ended, before = [], asyncio.Event(), cpu_of(server)
    readers = [asyncio.create_task(reading(client, findings, rows, ended, rest)) for client in clients]
    await asyncio.sleep(options.rest)
    ended.set()
    await asyncio.gather(*readers)
    told("at rest", rest, cpu_of(server) - before)

    big = table(options.rows, options.columns)
    busy, ended, most = [], asyncio.Event(), {"server": 0, "worker": 0}
    file = await owner.upload(big)
    before = cpu_of(server)
    watching = asyncio.create_task(memory(server, ended, most))
    readers = [asyncio.create_task(reading(client, findings, rows, ended, busy)) for client in clients]
    began = time.perf_counter()
    file = await owner.finished(file)
    await owner.finished(await owner.find(file))
    took = time.perf_counter() - began
    ended.set()
    await asyncio.gather(watching, *readers)
    told("while it learns", busy, cpu_of(server) - before)
    print(f"{options.rows:,} x {options.columns} read, learned and explained in {took:.0f} s")
    print(f"memory: server {most['server'] / MEGABYTE:.0f} MB, worker {most['worker'] / MEGABYTE:.0f} MB")
    print(f"(the worker may take {Limits().memory / MEGABYTE:.0f} MB)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--rest", type=float, default=10.0, help="seconds to measure at rest")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "whyodd", "serve", "--no-open", "--port", "0"]
        server = subprocess.Popen(
            [*command, "--folder", str(Path(folder) / "store")], stdout=subprocess.PIPE, text=True
        )
        try:
            address = re.search(r"http://\S+", server.stdout.readline())[0]
            asyncio.run(measured(address, server.pid, options))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
