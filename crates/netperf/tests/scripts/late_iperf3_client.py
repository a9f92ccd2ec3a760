"""An iperf3 client that sends an amount, and one of whose messages comes late.

    late_iperf3_client.py HOST PORT NUMBER SECONDS

Message NUMBER comes so many seconds late: 1 is the cookie, 2 the parameters, 3 the end of the test,
4 the results, and 5 the end of all.
"""

import json
import socket
import struct
import sys
import time

HOST, PORT, NUMBER, SECONDS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
COOKIE = b"c" * 36 + b"\0"
AMOUNT = 1000
# States of the protocol.
TEST_START, TEST_RUNNING, TEST_END = 1, 2, 4
PARAM_EXCHANGE, CREATE_STREAMS, EXCHANGE_RESULTS, DISPLAY_RESULTS, DONE = 9, 10, 13, 14, 16

control = socket.create_connection((HOST, PORT))


def send(number, message):
    if number == NUMBER:
        time.sleep(SECONDS)
    control.sendall(message)


def receive(length):
    received = b""
    while len(received) < length:
        part = control.recv(length - len(received))
        if not part:
            sys.exit("the server closed the connection")
        received += part
    return received


def expect(*states):
    received = receive(len(states))
    if received != bytes(states):
        sys.exit(f"{received} instead of {states}")


def framed(value):
    text = json.dumps(value).encode()
    return struct.pack(">I", len(text)) + text


send(1, COOKIE)
expect(PARAM_EXCHANGE)
send(2, framed({"tcp": True, "num": AMOUNT, "parallel": 1, "len": AMOUNT}))
expect(CREATE_STREAMS)
stream = socket.create_connection((HOST, PORT))
stream.sendall(COOKIE)
expect(TEST_START, TEST_RUNNING)
stream.sendall(bytes(AMOUNT))
send(3, bytes([TEST_END]))
expect(EXCHANGE_RESULTS)
own = {"id": 1, "bytes": AMOUNT, "retransmits": 0, "jitter": 0, "errors": 0, "packets": 0}
cpu = {"cpu_util_total": 0, "cpu_util_user": 0, "cpu_util_system": 0}
send(4, framed({**cpu, "sender_has_retransmits": 1, "streams": [own]}))
(length,) = struct.unpack(">I", receive(4))
results = json.loads(receive(length))
expect(DISPLAY_RESULTS)
send(5, bytes([DONE]))
print(results["streams"][0]["bytes"])
