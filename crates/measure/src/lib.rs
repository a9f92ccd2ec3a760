//! Clock, CPU utilisation, TCP_INFO and confidence intervals.
