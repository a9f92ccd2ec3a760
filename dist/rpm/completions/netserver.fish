# Completion of netserver for fish: that of netperf has both.
source (status dirname)/netperf.fish
