"""A monitoring script around `iperf3 -J`: what a user of iperf3 in Python writes."""

import json
import subprocess
import sys

HOST, PORT = sys.argv[1], sys.argv[2]


class TestResult:
    """Attributes of a result, as the package iperf3 names them."""

    def __init__(self, text):
        self.json = json.loads(text)
        self.error = self.json.get("error")
        if self.error:
            return
        start = self.json["start"]
        self.time = start["timestamp"]["time"]
        self.timesecs = start["timestamp"]["timesecs"]
        self.system_info = start["system_info"]
        self.version = start["version"]
        self.local_host = start["connected"][0]["local_host"]
        self.local_port = start["connected"][0]["local_port"]
        self.remote_host = start["connected"][0]["remote_host"]
        self.remote_port = start["connected"][0]["remote_port"]
        self.protocol = start["test_start"]["protocol"]
        self.num_streams = start["test_start"]["num_streams"]
        self.blksize = start["test_start"]["blksize"]
        self.omit = start["test_start"]["omit"]
        self.duration = start["test_start"]["duration"]
        end = self.json["end"]
        cpu = end["cpu_utilization_percent"]
        self.local_cpu_total = cpu["host_total"]
        self.local_cpu_user = cpu["host_user"]
        self.local_cpu_system = cpu["host_system"]
        self.remote_cpu_total = cpu["remote_total"]
        self.remote_cpu_user = cpu["remote_user"]
        self.remote_cpu_system = cpu["remote_system"]
        if self.protocol == "TCP":
            self.tcp_mss_default = start["tcp_mss_default"]
            self.retransmits = end["sum_sent"].get("retransmits")
            self.sent_bytes = end["sum_sent"]["bytes"]
            self.sent_bps = end["sum_sent"]["bits_per_second"]
            self.received_bytes = end["sum_received"]["bytes"]
            self.received_bps = end["sum_received"]["bits_per_second"]
        else:
            self.bytes = end["sum"]["bytes"]
            self.bps = end["sum"]["bits_per_second"]
            self.jitter_ms = end["sum"]["jitter_ms"]
            self.packets = end["sum"]["packets"]
            self.lost_packets = end["sum"]["lost_packets"]
            self.lost_percent = end["sum"]["lost_percent"]
            self.seconds = end["sum"]["seconds"]


def run(*options):
    command = ["iperf3", "-c", HOST, "-J", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=50)
    return TestResult(done.stdout)


tcp = run("-p", PORT, "-n", "64K", "-l", "8K")
assert tcp.local_host == tcp.remote_host == HOST, tcp.json
assert tcp.remote_port == int(PORT) and tcp.blksize == 8192, tcp.json
assert tcp.version.startswith("iperf 3"), tcp.version
arrived = 0 <= tcp.received_bytes <= tcp.sent_bytes
print("tcp sent_bytes", tcp.sent_bytes, "arrived", arrived, "retransmits", tcp.retransmits)
udp = run("-p", PORT, "-u", "-b", "1M", "-l", "500", "-n", "10000")
print("udp packets", udp.packets, "lost_packets", udp.lost_packets, "jitter_ms", udp.jitter_ms)
reverse = run("-p", PORT, "-R", "-P", "2", "-t", "1", "-b", "8M", "-l", "8K")
print("reverse streams", reverse.num_streams, "positive", reverse.received_bps > 0)
failed = run("-p", "1", "-t", "1")
print("failed", failed.error)
