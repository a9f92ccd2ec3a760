"""Opens connections that say nothing, and another for each that is closed.

    silent_clients.py HOST PORT COUNT
"""

import selectors
import socket
import sys
import time

# Time between a connection that was closed and the next one, seconds.
AGAIN = 0.01

host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
waiting = selectors.DefaultSelector()


def connect():
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex((host, port))
    waiting.register(one, selectors.EVENT_READ)


for _ in range(count):
    connect()
while True:
    for key, _ in waiting.select():
        waiting.unregister(key.fileobj)
        key.fileobj.close()
        time.sleep(AGAIN)
        connect()
