"""A client by aioquic, over HTTP/3; the window of a single answer begins with the buffer's size."""

import asyncio
import ssl
from urllib.parse import urlsplit

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamReset
from client import Body, Wrong

SILENCE_SECONDS = 20


class Client(QuicConnectionProtocol):
    """One connection that is never replaced, and the answers that are under way on it."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.h3 = H3Connection(self._quic)
        self.open = {}

    async def ask(self, url, body):
        parts = urlsplit(url)
        stream = self._quic.get_next_available_stream_id()
        fields = {":method": "GET", ":scheme": parts.scheme, ":authority": parts.netloc, ":path": parts.path}
        self.h3.send_headers(stream, [(name.encode(), value.encode()) for name, value in fields.items()], end_stream=True)
        end = asyncio.get_running_loop().create_future()
        self.open[stream] = body, end
        self.transmit()
        await end

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            error = Wrong(f"the connection ended, code {event.error_code}: {event.reason_phrase}")
            for stream in list(self.open):
                self._end(stream, error)
        if isinstance(event, StreamReset):
            self._end(event.stream_id, Wrong(f"RESET_STREAM, code {event.error_code}"))
        for message in self.h3.handle_event(event):
            body, _ = self.open.get(message.stream_id, (None, None))
            if isinstance(message, HeadersReceived) and dict(message.headers).get(b":status") != b"200":
                self._end(message.stream_id, Wrong(f"an answer with {message.headers}"))
            if isinstance(message, DataReceived) and body:
                body.take(message.data)
            if message.stream_ended:
                self._end(message.stream_id)

    def _end(self, stream, error=None):
        body, end = self.open.pop(stream, (None, None))
        if not end or end.done():
            return
        if error:
            end.set_exception(error)
        else:
            body.end()
            end.set_result(None)


async def _fetch(wanted, report):
    url = urlsplit(wanted.url)
    config = QuicConfiguration(alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE, idle_timeout=SILENCE_SECONDS)
    if wanted.count == 1:
        # Many answers with small windows take it minutes, from every server.
        config.max_stream_data = wanted.buffer
    turns = iter(range(wanted.count))
    async with connect(url.hostname, url.port, configuration=config, create_protocol=Client) as client:
        report.connections += 1

        async def work():
            for _ in turns:
                await client.ask(wanted.url, Body(report))

        await asyncio.gather(*(work() for _ in range(wanted.at_once)))


def fetch(wanted, report):
    asyncio.run(_fetch(wanted, report))
