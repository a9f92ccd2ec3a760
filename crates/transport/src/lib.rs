//! Transports: sockets that move the bytes of a test.
