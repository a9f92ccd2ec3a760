//! One safe function per libc call; the only unsafe code.
