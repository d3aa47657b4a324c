"""A client by httpx, over HTTP/1.1 or HTTP/2, that takes its answers in pieces of the buffer's size."""

import asyncio

import httpx
from client import Body, Wrong


async def _fetch_one(client, wanted, report):
    async def trace(name, _):
        report.connections += name == "connection.connect_tcp.started"

    body = Body(report, wanted.rate)
    async with client.stream("GET", wanted.url, extensions={"trace": trace}) as response:
        if response.status_code != 200:
            raise Wrong(f"status {response.status_code}")
        async for piece in response.aiter_raw(wanted.buffer):
            body.take(piece)
            if pause := body.pause():
                await asyncio.sleep(pause)
    body.end()


async def _fetch(wanted, report):
    spoken = {"http1": wanted.protocol == "h1", "http2": wanted.protocol == "h2"}
    limits = httpx.Limits(max_connections=1 if wanted.protocol == "h2" else wanted.at_once)
    fields = {"accept-encoding": "identity"}
    client = httpx.AsyncClient(verify=False, limits=limits, headers=fields, timeout=20, trust_env=False, **spoken)
    turns = iter(range(wanted.count))

    async def work():
        for _ in turns:
            await _fetch_one(client, wanted, report)

    async with client:
        await asyncio.gather(*(work() for _ in range(wanted.at_once)))


def fetch(wanted, report):
    asyncio.run(_fetch(wanted, report))
