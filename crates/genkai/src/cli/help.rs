//! The parts of help that are made, not written: lists of exit codes and of names.

use genkai_model::exit::Exit;

/// Examples, notes and exit codes, as they stand below the flags of `--help`.
pub(super) fn below(examples: &str, notes: &str, codes: &[(Exit, &str)]) -> String {
    let parts = [examples, notes, &exit_codes(codes)];
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("\n\n")
}

/// Exit codes, each with its meaning.
pub(super) fn exit_codes(codes: &[(Exit, &str)]) -> String {
    let line = |(exit, meaning): &(Exit, &str)| format!("\n  {:<4} {meaning}", exit.code());
    format!("Exit codes:{}", codes.iter().map(line).collect::<String>())
}

/// `a, b or c`.
pub(super) fn or<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match &names[..] {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => names.concat(),
    }
}
