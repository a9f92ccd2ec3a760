//! Both ends of the control protocol as state machines.
