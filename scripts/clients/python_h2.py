"""A client by the library h2, alone on a socket: it gives windows back in pieces of the buffer's size."""

import contextlib
import socket
import ssl
import time
from urllib.parse import urlsplit

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings
from client import Body, Wrong

# The windows that RFC 9113 begins with; a reader of larger pieces needs more, or it would wait for a
# piece that cannot come.
LEAST_WINDOW = 65_535
# So many requests may be under way in a connection that cancels; below what servers allow.
UNDER_WAY = 64
SILENCE_SECONDS = 20


class Connection:
    """One connection that is never replaced, and the answers that are under way on it."""

    def __init__(self, wanted, report):
        url = urlsplit(wanted.url)
        self.wanted = wanted
        self.report = report
        self.scheme, self.authority = url.scheme, url.netloc
        self.open = {}
        self.ended = set()
        self.owed = 0
        self.socket = socket.create_connection((url.hostname, url.port), SILENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if url.scheme == "https":
            trust = ssl.create_default_context()
            trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
            trust.set_alpn_protocols(["h2"])
            self.socket = trust.wrap_socket(self.socket)
        report.connections += 1
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        window = max(LEAST_WINDOW, 2 * wanted.buffer)
        self.h2.initiate_connection()
        if window > LEAST_WINDOW:
            self.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
            self.h2.increment_flow_control_window(window - LEAST_WINDOW)
        self.flush()

    def close(self):
        self.socket.close()

    def flush(self):
        if data := self.h2.data_to_send():
            self.socket.settimeout(SILENCE_SECONDS)
            self.socket.sendall(data)

    def ask(self, answer):
        stream = self.h2.get_next_available_stream_id()
        path = urlsplit(answer.url).path
        fields = {":method": "GET", ":scheme": self.scheme, ":authority": self.authority, ":path": path}
        self.h2.send_headers(stream, list(fields.items()), end_stream=True)
        self.open[stream] = answer

    def receive(self, wait_seconds=SILENCE_SECONDS):
        """A piece from the socket, and to the answers what came for them."""
        self.flush()
        self.socket.settimeout(wait_seconds)
        try:
            data = self.socket.recv(self.wanted.buffer)
        except TimeoutError:
            if wait_seconds < SILENCE_SECONDS:
                return
            raise
        if not data:
            raise Wrong("the server closed the connection")
        events = self.h2.receive_data(data)
        # The library has seen them all: to who has ended nothing can be given any more.
        for event in events:
            if isinstance(event, h2.events.ConnectionTerminated):
                raise Wrong(f"GOAWAY with {event.error_code!r}")
            if isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
                self.ended.add(event.stream_id)
        for event in events:
            self._take(event)

    def _take(self, event):
        match event:
            case h2.events.StreamReset() if event.stream_id in self.open:
                raise Wrong(f"RST_STREAM with {event.error_code!r}")
            case h2.events.ResponseReceived() if (status := dict(event.headers)[":status"]) != "200":
                raise Wrong(f"status {status}")
            case h2.events.DataReceived():
                self._take_content(event)
            case h2.events.StreamEnded() if answer := self.open.pop(event.stream_id, None):
                answer.end()

    def _take_content(self, event):
        answer, size = self.open.get(event.stream_id), self.wanted.buffer
        for begin in range(0, len(event.data), size):
            piece = event.data[begin:begin + size]
            self._give_back(len(piece), answer, event.stream_id)
            if answer:
                answer.take(piece)
                if pause := answer.pause():
                    time.sleep(pause)
        self._give_back(event.flow_controlled_length - len(event.data), answer, event.stream_id)
        if answer and answer.is_left and event.stream_id not in self.ended:
            del self.open[event.stream_id]
            self.h2.reset_stream(event.stream_id, h2.errors.ErrorCodes.CANCEL)
            self.report.cancelled += 1

    def _give_back(self, count, answer, stream):
        """Both windows, widened as soon as a whole piece was taken out of them."""
        self.owed += count
        if self.owed >= self.wanted.buffer:
            self.h2.increment_flow_control_window(self.owed)
            self.owed = 0
        if answer and stream not in self.ended:
            answer.owed += count
            if answer.owed >= self.wanted.buffer:
                self.h2.increment_flow_control_window(answer.owed, stream)
                answer.owed = 0
        self.flush()


class Answer(Body):
    """An answer that is read to its end, or one that nobody waits for after the first bytes."""

    def __init__(self, url, report, rate=0, is_left=False):
        super().__init__(report, rate)
        self.url = url
        self.is_left = is_left
        self.owed = 0


def fetch(wanted, report):
    with contextlib.closing(Connection(wanted, report)) as connection:
        left = wanted.count
        while left or connection.open:
            while left and len(connection.open) < wanted.at_once:
                connection.ask(Answer(wanted.url, report, wanted.rate))
                left -= 1
            connection.receive()


def cancel(wanted, report):
    """A proxy's connection: small answers for those who stay, and large ones whose readers go away."""
    with contextlib.closing(Connection(wanted, report)) as connection:
        rate, cancels = wanted.good_per_second + wanted.cancels_per_second, wanted.cancels_per_second
        since, begun, all_of_them = time.monotonic(), 0, wanted.seconds * rate
        while begun < all_of_them or connection.open:
            due = min((time.monotonic() - since) * rate, all_of_them)
            while begun < due and len(connection.open) < UNDER_WAY:
                # Evenly mixed, also where the machine is too slow for the rate.
                leaves = (begun + 1) * cancels // rate > begun * cancels // rate
                connection.ask(Answer(wanted.large if leaves else wanted.url, report, is_left=leaves))
                begun += 1
            connection.receive(wait_seconds=0.002)
