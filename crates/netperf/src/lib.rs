//! netperf and netserver: the two mains and the wiring between the rooms.
