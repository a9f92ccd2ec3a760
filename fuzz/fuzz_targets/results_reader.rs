//! Files of results, packed or not: no input panics, and none takes more memory than a reader may
//! (cargo fuzz run results_reader -- -rss_limit_mb=2048 -malloc_limit_mb=1024).

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(record) = netperf_web::read("x", bytes) {
        let _page = netperf_web::page(&[record]);
    }
    let _document = netperf_web::document(bytes);
});
