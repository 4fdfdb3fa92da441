//! What a run found: one line of JSON, one row of `docs/exhaustive.md`.

use crate::evidence;

/// What a run found.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    /// Name of the function.
    pub(super) function: String,
    /// Inputs, or pairs of inputs, compared.
    pub(super) inputs: u64,
    /// Inputs whose host or device spelling differs from the oracle.
    pub(super) mismatches: u64,
    /// The first of them: (first) input, host result, device result, oracle, as bits.
    pub(super) first_mismatch: Option<[u32; 4]>,
    /// Significant bits that the hardest input needs before it rounds safely; 0 where that was not asked.
    pub(super) worst_case_bits: u32,
    /// That input, as bits.
    pub(super) worst_case: u32,
    /// BLAKE3 of all results, little-endian, in the order of the inputs, by blocks of 65,536: hash of the block hashes.
    /// Empty for a sample.
    pub(super) digest: String,
    /// Spellings compared: the host's, or that of devices too.
    pub(super) spellings: u32,
    /// Who was asked.
    pub(super) oracle: &'static str,
    /// Wall time.
    pub(super) seconds: f64,
    /// Threads.
    pub(super) threads: usize,
    /// Nanoseconds an element on the host, one thread, ordinary arguments.
    pub(super) host_ns: Option<f64>,
    /// The same for the platform's mathematical library.
    pub(super) platform_ns: Option<f64>,
}

/// The head of the table.
const HEAD: &str = "\
| function | inputs | spellings | oracle | mismatches | worst case | bits | seconds | threads | host ns | libm ns | digest | made |
|---|---|---|---|---|---|---|---|---|---|---|---|---|";

impl Summary {
    /// One line of JSON.
    pub(super) fn to_json(&self) -> String {
        let first = match self.first_mismatch {
            Some([input, host, device, oracle]) => {
                format!(
                    r#"{{"input":"{input:08x}","host":"{host:08x}","device":"{device:08x}","oracle":"{oracle:08x}"}}"#
                )
            }
            None => "null".into(),
        };
        let number = |x: Option<f64>| x.map_or("null".into(), |x| format!("{x:.2}"));
        format!(
            concat!(
                r#"{{"function":"{}","inputs":{},"spellings":{},"oracle":"{}","mismatches":{},"first_mismatch":{},"worst_case_bits":{},"#,
                r#""worst_case":"{:08x}","digest":"{}","seconds":{:.1},"threads":{},"host_ns":{},"platform_ns":{}}}"#
            ),
            self.function,
            self.inputs,
            self.spellings,
            self.oracle,
            self.mismatches,
            first,
            self.worst_case_bits,
            self.worst_case,
            self.digest,
            self.seconds,
            self.threads,
            number(self.host_ns),
            number(self.platform_ns),
        )
    }

    fn row(&self) -> String {
        let dash = || "–".to_owned();
        let number = |x: Option<f64>| x.map_or_else(dash, |x| format!("{x:.1}"));
        let (case, bits) = match self.worst_case_bits {
            0 => (dash(), dash()),
            bits => (format!("`{:08x}`", self.worst_case), bits.to_string()),
        };
        let digest = if self.digest.is_empty() { dash() } else { format!("`{}…`", &self.digest[..32]) };
        format!(
            "| {} | {} | {} | {} | {} | {case} | {bits} | {:.0} | {} | {} | {} | {digest} | {} |",
            self.function,
            grouped(self.inputs),
            self.spellings,
            self.oracle,
            self.mismatches,
            self.seconds,
            self.threads,
            number(self.host_ns),
            number(self.platform_ns),
            evidence::today(),
        )
    }
}

/// `n` with commas.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let cut = |(i, c): (usize, char)| {
        let comma = i > 0 && (digits.len() - i).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([c])
    };
    digits.chars().enumerate().flat_map(cut).collect()
}

/// The text `old` with the row of this function put into its table, in place of an older one or at the end.
pub(super) fn merged(old: &str, done: &Summary) -> String {
    let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
    if !lines.iter().any(|l| l.starts_with("| function |")) {
        lines.extend(["".to_owned()].into_iter().filter(|_| !old.is_empty()));
        lines.extend(HEAD.lines().map(str::to_owned));
    }
    let head = lines.iter().position(|l| l.starts_with("| function |")).unwrap_or_default();
    let end = lines[head..].iter().position(|l| !l.starts_with('|')).map_or(lines.len(), |n| head + n);
    let own = format!("| {} |", done.function);
    match lines[head..end].iter().position(|l| l.starts_with(&own)) {
        // A quick run does not take the place of a thorough one.
        Some(at) if done.oracle != "MPFR" && lines[head + at].contains("| MPFR |") => {}
        Some(at) => lines[head + at] = done.row(),
        None => lines.insert(end, done.row()),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(function: &str, seconds: f64) -> Summary {
        Summary {
            function: function.into(),
            inputs: 1 << 32,
            mismatches: 0,
            first_mismatch: None,
            worst_case_bits: 52,
            worst_case: 0xc169_12cd,
            digest: "0123456789abcdef".repeat(4),
            spellings: 2,
            oracle: "MPFR",
            seconds,
            threads: 16,
            host_ns: Some(1.44),
            platform_ns: None,
        }
    }

    #[test]
    fn rows_are_put_in_and_replaced() {
        let first = merged("# Title\n\nText.\n", &done("exp", 229.4));
        assert!(first.starts_with("# Title\n\nText.\n\n| function |"));
        assert!(
            first.contains("| exp | 4,294,967,296 | 2 | MPFR | 0 | `c16912cd` | 52 | 229 | 16 | 1.4 | – |"),
            "{first}"
        );
        assert_eq!(merged(&first, &Summary { oracle: "libm, MPFR", ..done("exp", 1.0) }), first);
        let more = merged(&(first + "\nAfter.\n"), &done("exp2", 5.0));
        let again = merged(&more, &done("exp", 100.0));
        assert_eq!(again.matches("| exp |").count(), 1);
        assert!(
            again.contains("| 100 | 16 |") && again.contains("| exp2 |") && again.ends_with("\nAfter.\n"),
            "{again}"
        );
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!(
            (grouped(0), grouped(999), grouped(1_000), grouped(1 << 32)),
            ("0".into(), "999".into(), "1,000".into(), "4,294,967,296".into())
        );
    }
}
