//! The binary: parse, run, exit code; nothing else.

fn main() -> std::process::ExitCode {
    rosterd::cli::main()
}
