"""Each function runs one library or program of others, and fails where its result is not whole."""

import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

PORT = "5201"


def run(*words, seconds=60):
    done = subprocess.run(words, capture_output=True, text=True, timeout=seconds)
    if done.returncode != 0:
        raise AssertionError(f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def serving(*words, says=None):
    """A server, until the end of the block. It listens once it has printed `says`."""
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        while says:
            line = server.stdout.readline()
            assert line, f"{words} ended before it printed {says}"
            if says in line:
                break
        yield server
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()


def netserver(*options):
    return serving("netserver", "-D", "-L", "127.0.0.1", *options, says="Starting netserver")


def riperf3_with_our_server():
    with netserver("--iperf3", PORT):
        for more in [], ["-R"], ["-u"], ["-P", "2"]:
            text = run("riperf3", "-c", "127.0.0.1", "-p", PORT, "-t", "1", "-J", *more)
            end = json.loads(text)["end"]
            assert (end.get("sum_received") or end["sum"])["bytes"] > 0, text


def our_client_with_riperf3():
    for more in [], ["-R"], ["-u"]:
        with serving("riperf3", "-s", "-p", PORT, says="istening"):
            text = run("iperf3", "-c", "127.0.0.1", "-p", PORT, "-t", "1", "-J", *more)
            end = json.loads(text)["end"]
            assert (end.get("sum_received") or end["sum"])["bytes"] > 0, text


def uiperf3_with_our_server():
    with netserver("--iperf3", PORT):
        for more in [], ["-R"], ["-u"]:
            text = run("python", "-m", "uiperf3", "-c", "127.0.0.1", *more)
            assert "receiver" in text, text


def our_client_with_uiperf3():
    with serving("python", "-u", "-m", "uiperf3", "-s", says="istening"):
        text = run("iperf3", "-c", "127.0.0.1", "-p", PORT, "-t", "1")
        assert "iperf Done." in text, text


def pyperf2():
    import pyperf2

    iperf = shutil.which("iperf")
    for options in {"protocol": "tcp"}, {"protocol": "udp", "bandwidth": "100pps"}:
        server, client = pyperf2.Server(), pyperf2.Client()
        for one in server, client:
            one.set_options(iperf_binary_path=iperf, report_interval="0.5", **options)
        client.set_options(server_ip="127.0.0.1")
        server.start()
        time.sleep(1)
        client.start()
        time.sleep(3)
        client.stop()
        server.stop()
        for one in server, client:
            results = one.get_results()
            assert results, f"{options}: no results of {one}"
            for stream in results.values():
                assert len(stream["detail"]) >= 3 and stream["summary"], results


def moler():
    from moler.cmd.unix.iperf2 import Iperf2
    from moler.io.raw.memory import ThreadedFifoBuffer
    from moler.threaded_moler_connection import ThreadedMolerConnection

    with serving("iperf", "-s", says="Server listening"):
        for options in "-c 127.0.0.1 -t 2 -i 1", "-c 127.0.0.1 -t 2 -i 1 -P 2":
            text = run("iperf", *options.split())
            connection = ThreadedMolerConnection(
                encoder=lambda data: data.encode("utf-8"),
                decoder=lambda data: data.decode("utf-8"),
            )
            buffer = ThreadedFifoBuffer(moler_connection=connection, echo=False)
            output = f"user@host:~$ iperf {options}\n{text}user@host:~$ "
            with buffer.open():
                command = Iperf2(connection=connection, options=options, prompt=r"user@host:~\$")
                command.start()
                buffer.inject([output.encode("utf-8")])
                result = command.await_done(timeout=20)
            rows = [row for rows in result["CONNECTIONS"].values() for row in rows]
            assert rows and all("Transfer" in str(rows) for _ in rows), result


def flent():
    with netserver(), tempfile.TemporaryDirectory() as folder:
        for test in "tcp_download", "udp_flood", "tcp_bidirectional":
            run("flent", "-H", "127.0.0.1", "-l", "3", "-D", folder, test, seconds=120)
        stored = list(pathlib.Path(folder).glob("*.flent.gz"))
        assert len(stored) == 3, stored


def main():
    checks = [
        riperf3_with_our_server,
        our_client_with_riperf3,
        uiperf3_with_our_server,
        our_client_with_uiperf3,
        pyperf2,
        moler,
        flent,
    ]
    wanted = [check for check in checks if not sys.argv[1:] or check.__name__ in sys.argv[1:]]
    failed = 0
    for check in wanted:
        began = time.monotonic()
        try:
            check()
            said = "ok"
        except Exception:  # Each check is tried, whatever another did.
            failed += 1
            said = "FAILED"
            traceback.print_exc()
        print(f"{said:8}{check.__name__:28}{time.monotonic() - began:6.1f} s", flush=True)
    sys.exit(1 if failed else 0)


main()
