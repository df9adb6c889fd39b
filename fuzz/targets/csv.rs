#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rosterd::fuzzing::csv(bytes));
