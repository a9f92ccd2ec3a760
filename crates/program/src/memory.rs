//! The message of a program that has no memory.

/// Sets the message for the case that `program` has no memory.
pub fn report_lack_of_memory(program: &str) {
    let line = format!(
        "{program}: not enough memory: use fewer flows and threads (--flows, --threads), smaller \
         messages (-m, -M), or a higher limit (ulimit -v, MemoryMax=)\n"
    );
    netperf_os::memory::set_last_message(2, &line);
}
