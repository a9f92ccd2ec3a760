"""A server of iperf that does not end its test, or whose counts cannot be.

    hostile_iperf.py iperf3|iperf2 FAULT [PORT [CLAIMS]]

PORT 0 is one that the kernel chooses, for TCP alone. FAULT of iperf3: `sends` for half a minute
more, `begins` or `ends` slowly, `reads` slowly, reports `lost` datagrams, or `speaks` to the
terminal, `forges` lines of results, or `claims` the numbers of an object of JSON. FAULT of iperf2: `sends`, `reads` or `lost`.
"""

import json
import socket
import struct
import sys
import time

# States of iperf3.
START, RUNNING, END, PARAMETERS, STREAMS, RESULTS, DISPLAY = 1, 2, 4, 9, 10, 13, 14
# Time for which data goes on, and between two states or two pieces, seconds.
OVERTIME, SLOW, PIECE = 32, 9, 0.25
# Lost datagrams: -24 in 64 bits.
LOST = 2**64 - 24
# What a terminal obeys, or does not show.
SPOKEN = "a\x1b[2J\x9b31m\r\u202eb\u200b\u00ad\ufeff\U000e0041c"

# Lines that look like results.
FORGED = "cubic\nTHROUGHPUT=99999.00\r\n[  5]   0.00-1.00   sec  99.9 GBytes  receiver"


def exactly(source, count):
    data = b""
    while len(data) < count:
        part = source.recv(count - len(data))
        if not part:
            sys.exit()
        data += part
    return data


def listener(kind, port):
    one = socket.socket(socket.AF_INET, kind)
    # A small window, so that a slow reader keeps much unread.
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.bind(("0.0.0.0", port))
    if kind == socket.SOCK_STREAM:
        one.listen(8)
    return one


def send_for(target, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        target.sendall(bytes(1000))
        time.sleep(PIECE)


def read_slowly(source):
    while source.recv(100):
        time.sleep(SLOW / 4)


def iperf3(fault):
    server = listener(socket.SOCK_STREAM, PORT)
    port = server.getsockname()[1]
    datagrams = listener(socket.SOCK_DGRAM, port) if port == PORT else None
    print("listens", port, flush=True)
    control, _ = server.accept()

    def say(state, slowly):
        time.sleep(SLOW if slowly else 0)
        control.sendall(bytes([state]))

    exactly(control, 37)
    begins, ends = fault == "begins", fault == "ends"
    say(PARAMETERS, begins)
    (length,) = struct.unpack(">I", exactly(control, 4))
    parameters = json.loads(exactly(control, length))
    say(STREAMS, begins)
    if parameters.get("udp"):
        _, client = datagrams.recvfrom(64)
        datagrams.sendto(struct.pack("<I", 0x39383736), client)
    else:
        stream, _ = server.accept()
        exactly(stream, 37)
    say(START, begins)
    say(RUNNING, begins)
    if fault == "sends":
        send_for(stream, 2 + OVERTIME)
    if fault == "reads":
        read_slowly(stream)
    if fault == "claims" and parameters.get("reverse"):
        stream.sendall(bytes(parameters["num"]))
    exactly(control, 1)
    say(RESULTS, ends)
    (length,) = struct.unpack(">I", exactly(control, 4))
    results = json.loads(exactly(control, length))
    if fault == "lost":
        results["streams"][0]["errors"] = LOST
    if fault == "speaks":
        results["server_output_text"] = results["congestion_used"] = SPOKEN
    if fault == "forges":
        results["congestion_used"] = FORGED
    if fault == "claims":
        claims = json.loads(sys.argv[4])
        results.update({key: claims.pop(key) for key in list(claims) if key in results})
        results["streams"][0].update(claims)
    text = json.dumps(results).encode()
    time.sleep(SLOW if ends else 0)
    control.sendall(struct.pack(">I", len(text)) + text)
    say(DISPLAY, ends)
    exactly(control, 1)


def iperf2(fault):
    if fault == "lost":
        server = listener(socket.SOCK_DGRAM, 5001)
        while True:
            data, client = server.recvfrom(65536)
            if struct.unpack(">i", data[:4])[0] < 0:
                break
        words = [0x80000000, 0, 1470, 2, 0, LOST & 0xFFFFFFFF, 0, 10, 0, 0]
        report = bytes(16) + struct.pack(">10I", *words) + bytes(60)
        report += struct.pack(">3I", LOST >> 32, 0, 0)
        server.sendto(report, client)
        time.sleep(1)
        return
    stream, _ = listener(socket.SOCK_STREAM, 5001).accept()
    stream.recv(4096)
    if fault == "sends":
        send_for(stream, 2 + OVERTIME)
    else:
        read_slowly(stream)


PORT = int(sys.argv[3]) if len(sys.argv) > 3 else 5201
{"iperf3": iperf3, "iperf2": iperf2}[sys.argv[1]](sys.argv[2])
