"""A peer with one fault: passes connections on to a server, and breaks one message.

    faulty_peer.py PORT SERVER_PORT SIZE TOWARDS NUMBER FAULT [SECONDS]

Connections to PORT go to SERVER_PORT of this host. On the first one, message NUMBER (from 1)
TOWARDS the `client` or the `server` meets the FAULT; messages have SIZE bytes, or with 0 are what
one recv(2) returns. All others pass unchanged.
"""

import contextlib
import random
import select
import socket
import struct
import sys
import threading
import time

# Interval between the bytes of a message that dribbles.
DRIBBLE = 0.005


class Reset(Exception):
    """Both connections end at once, by a reset where the system has SO_LINGER."""


class Direction:
    """One direction of a connection: what has come, and what is still to be sent, and when."""

    def __init__(self, source, target, size, fault):
        self.source, self.target, self.size, self.fault = source, target, size, fault
        self.buffer, self.number = b"", 0
        # Pairs of a time and bytes; None ends the direction.
        self.queue = []
        self.ended = self.stalled = False

    def receives(self):
        """Takes what has come."""
        part = self.source.recv(65536)
        if not part:
            self.source_ends()
            return
        self.buffer += part
        size = self.size or len(self.buffer)
        while len(self.buffer) >= size > 0:
            message, self.buffer = self.buffer[:size], self.buffer[size:]
            self.number += 1
            self.passes(message)
            size = self.size or len(self.buffer)

    def source_ends(self):
        """Passes the end on, behind all that is still to be sent."""
        self.ended = True
        self.later(0, self.buffer or None)
        if self.buffer:
            self.later(0, None)

    def later(self, seconds, data):
        """Sends these bytes so much later than all that is in the queue."""
        last = self.queue[-1][0] if self.queue else time.monotonic()
        if not self.stalled:
            self.queue.append((last + seconds, data))

    def passes(self, message):
        """Passes a message on, as the fault says."""
        if not self.fault or self.fault[0] != self.number:
            self.later(0, message)
            return
        _, fault, seconds = self.fault
        if fault == "stall":
            self.stalled = True
        elif fault == "late":
            self.later(seconds, message)
        elif fault == "half-close":
            self.later(0, None)
            self.stalled = True
        elif fault == "reset":
            raise Reset
        elif fault == "dribble":
            for byte in message:
                self.later(DRIBBLE, bytes([byte]))
        elif fault == "garbage":
            self.later(0, random.Random(len(message)).randbytes(len(message)))
        elif fault == "short":
            self.later(0, message[: len(message) // 2])
            self.later(0, None)
            self.stalled = True
        elif fault == "twice":
            self.later(0, message + message)
        else:
            sys.exit("no such fault: " + fault)

    def sends(self):
        """Sends what is due."""
        while self.queue and self.queue[0][0] <= time.monotonic():
            data = self.queue.pop(0)[1]
            if data is None:
                self.target.shutdown(socket.SHUT_WR)
            else:
                self.target.sendall(data)


def passes(client, server, size, faults):
    """Passes a connection on until both directions have ended."""
    directions = [
        Direction(server, client, size, faults.get("client")),
        Direction(client, server, size, faults.get("server")),
    ]
    try:
        while not all(one.ended and not one.queue for one in directions):
            sources = [one.source for one in directions if not one.ended]
            dues = [one.queue[0][0] for one in directions if one.queue]
            wait = max(0.0, min(dues) - time.monotonic()) if dues else None
            ready, _, _ = select.select(sources, [], [], wait)
            for one in directions:
                if one.source in ready:
                    one.receives()
                one.sends()
    except Reset:
        for one in client, server:
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        # A program has ended the connection.
        pass
    client.close()
    server.close()


def main():
    port, server_port, size, towards, number, fault = sys.argv[1:7]
    seconds = float(sys.argv[7]) if len(sys.argv) > 7 else 0.0
    faults = {towards: (int(number), fault, seconds)}
    listener = socket.socket()
    listener.bind(("", int(port)))
    listener.listen(64)
    while True:
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", int(server_port)))
        for one in client, server:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        words = (client, server, int(size), faults)
        threading.Thread(target=passes, args=words, daemon=True).start()
        faults = {}


main()
