//! What is let through beside the pinned operations, where, and why. Nothing else is.

use std::collections::{BTreeMap, BTreeSet};

use super::operation::{Operation, Pins, Tallies};

/// One form of a kernel in one language, as the rules see it.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The language.
    pub language: &'a str,
    /// Path of the kernel's function.
    pub kernel: &'a str,
    /// What it does with floats.
    pub tallies: &'a Tallies,
}

/// Operations that some kernels may use.
pub struct Exception {
    /// A short name.
    pub name: &'static str,
    /// Paths of the kernels.
    pub kernels: &'static [&'static str],
    /// Why it moves no bit of a result.
    pub reason: &'static str,
    covers: fn(&Operation) -> bool,
}

/// Every exception.
pub const EXCEPTIONS: [Exception; 3] = [
    Exception {
        name: "first guesses",
        kernels: &[
            "ml_kernels::linalg::kernel::finish",
            "ml_kernels::linalg::kernel::substitute",
            "ml_kernels::map::kernel::map_program",
            "ml_kernels::num::kernel::sweep_kernel",
            "ml_kernels::trees::split::kernel::gain::weigh_candidates",
            "ml_kernels::trees::split::kernel::prefix::ratio_keys",
        ],
        reason: "`num::div` and `num::sqrt` (`num/divide.rs`) start from a native quotient or root, good to a few units in \
                 the last place, and find the correctly rounded one by integers. For each product of a guess there are \
                 two quotients and two unpinned fma, no more.",
        covers: |o| match o {
            Operation::Quotient | Operation::Product | Operation::Fma => true,
            Operation::Function(name) => name == "sqrt",
            _ => false,
        },
    },
    Exception {
        name: "small integers",
        kernels: &["ml_kernels::num::kernel::sweep_kernel", "ml_kernels::random::kernel::fill_blocks"],
        reason: "Uniform numbers (`num/philox.rs`) convert integers below 2^24, which are floats already: no device can \
                 round them.",
        covers: |o| *o == Operation::FromInteger,
    },
    Exception {
        name: "probe",
        kernels: &["ml_kernels::probe::kernel::rates", "ml_kernels::probe::kernel::values"],
        reason: "`cargo xtask doctor` asks devices what their native operations do; no primitive uses the answers.",
        covers: |o| !matches!(o, Operation::Unread(_) | Operation::Licence(_) | Operation::Atomic | Operation::Plane),
    },
];

/// Launchable functions that the suite does not launch, and why.
pub const UNRENDERED: [(&str, &str); 2] = [
    ("ml_kernels::scatter_add::kernel::copy_cells", "the arm `FloatScatter` alone launches it"),
    ("ml_kernels::scatter_add::kernel::fold_cells", "the arm `FloatScatter` alone launches it"),
];

/// The exceptions that a kernel's operation is under.
pub fn excepted(kernel: &str, operation: &Operation) -> impl Iterator<Item = &'static Exception> {
    let (kernel, operation) = (kernel.to_owned(), operation.clone());
    EXCEPTIONS.iter().filter(move |e| e.kernels.contains(&kernel.as_str()) && (e.covers)(&operation))
}

/// Everything that no rule lets through, one line each.
pub fn findings(all: &[Seen<'_>], kernels: &BTreeMap<String, Pins>, languages: &[&str]) -> Vec<String> {
    let mut findings = BTreeSet::new();
    let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
    for seen in all {
        let Seen { language, kernel, tallies } = seen;
        if !kernels.contains_key(*kernel) {
            findings.insert(format!("{language}: {kernel}: rendered, but no launchable function of the source"));
        }
        for (operation, tally) in tallies.0.iter().filter(|(operation, _)| !operation.is_free()) {
            let mut found = false;
            for exception in excepted(kernel, operation) {
                used.extend(exception.kernels.iter().find(|k| *k == kernel).map(|k| (exception.name, *k)));
                found = true;
            }
            if !found {
                findings.insert(format!("{language}: {kernel}: line {}: {operation}: {}", tally.line, tally.code));
            }
        }
        findings.extend(guesses(seen));
    }
    for exception in &EXCEPTIONS {
        for kernel in exception.kernels.iter().filter(|k| !used.contains(&(exception.name, k))) {
            findings.insert(format!("{kernel}: does nothing for which it has the exception \"{}\"", exception.name));
        }
    }
    for language in languages {
        let rendered: BTreeSet<&str> = all.iter().filter(|s| s.language == *language).map(|s| s.kernel).collect();
        for kernel in kernels.keys() {
            let excused = UNRENDERED.iter().any(|(k, _)| k == kernel);
            match (rendered.contains(kernel.as_str()), excused) {
                (false, false) => findings.insert(format!("{language}: {kernel}: not rendered: no case launches it")),
                (true, true) => findings.insert(format!("{language}: {kernel}: rendered, and listed as not")),
                _ => continue,
            };
        }
    }
    for (kernel, _) in UNRENDERED.iter().filter(|(k, _)| !kernels.contains_key(*k)) {
        findings.insert(format!("{kernel}: listed as not rendered, and not in the source"));
    }
    findings.into_iter().collect()
}

/// A kernel with the exception for guesses does nothing unpinned but what guesses consist of.
fn guesses(seen: &Seen<'_>) -> Option<String> {
    if !EXCEPTIONS[0].kernels.contains(&seen.kernel) {
        return None;
    }
    let count = |o: Operation| seen.tallies.0.get(&o).map_or(0, |t| t.count);
    let (products, quotients, fma) = (count(Operation::Product), count(Operation::Quotient), count(Operation::Fma));
    // The optimiser that runs for SPIR-V merges equal expressions.
    let merges = seen.language == "spirv";
    let fits = |n: usize| n == 2 * products || (merges && n < 2 * products);
    (!fits(quotients) || !fits(fma)).then(|| {
        format!(
            "{}: {}: {products} products, {quotients} quotients and {fma} unpinned fma, which are no whole guesses",
            seen.language, seen.kernel
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUESSES: &str = "ml_kernels::map::kernel::map_program";
    const PLAIN: &str = "ml_kernels::scan::kernel::scan_blocks";

    fn tallies(operations: &[(Operation, usize)]) -> Tallies {
        let mut tallies = Tallies::default();
        for (operation, count) in operations {
            (0..*count).for_each(|_| tallies.add(operation.clone(), 7, || "code".to_owned()));
        }
        tallies
    }

    /// Findings of one form of `kernel`, without those about kernels that are missing here.
    fn found(kernel: &str, operations: &[(Operation, usize)]) -> Vec<String> {
        let tallies = tallies(operations);
        let seen = Seen { language: "cuda", kernel, tallies: &tallies };
        let kernels = [(kernel.to_owned(), Pins::default())].into();
        let all = findings(&[seen], &kernels, &["cuda"]);
        all.into_iter().filter(|f| !f.contains("has the exception") && !f.contains("not in the source")).collect()
    }

    #[test]
    fn what_is_not_excepted_is_told_with_kernel_line_and_operation() {
        assert!(found(PLAIN, &[(Operation::PinnedProduct, 3), (Operation::PinnedSum, 2)]).is_empty());
        assert_eq!(
            found(PLAIN, &[(Operation::Product, 1)]),
            ["cuda: ml_kernels::scan::kernel::scan_blocks: line 7: bare product: code"]
        );
        assert_eq!(found(PLAIN, &[(Operation::Licence("#pragma".to_owned()), 1)]).len(), 1);
        assert_eq!(found("ml_kernels::probe::kernel::rates", &[(Operation::Atomic, 1)]).len(), 1);
    }

    #[test]
    fn guesses_are_whole() {
        let division = |n| [(Operation::Product, n), (Operation::Quotient, 2 * n), (Operation::Fma, 2 * n)];
        assert!(found(GUESSES, &division(3)).is_empty());
        assert!(found(GUESSES, &[(Operation::Function("sqrt".to_owned()), 1)]).is_empty());
        let mut more = division(3);
        more[2].1 += 1;
        assert_eq!(found(GUESSES, &more).len(), 1, "an fma that belongs to no guess");
        assert_eq!(found(GUESSES, &[(Operation::Product, 1)]).len(), 1, "a product alone");
        assert_eq!(found(GUESSES, &[(Operation::Sum, 1)]).len(), 1);
    }

    #[test]
    fn no_kernel_is_forgotten_and_no_exception_outlives_its_use() {
        let kernels: BTreeMap<String, Pins> = [(PLAIN.to_owned(), Pins::default())].into();
        let all = findings(&[], &kernels, &["cuda"]);
        assert!(all.iter().any(|f| f.ends_with("scan_blocks: not rendered: no case launches it")), "{all:?}");
        assert!(all.iter().any(|f| f.contains("fill_blocks: does nothing for which it has the exception")), "{all:?}");
        assert!(all.iter().any(|f| f.contains("fold_cells: listed as not rendered, and not in the source")), "{all:?}");
        let (kernel, none) = (UNRENDERED[0].0, Tallies::default());
        let seen = Seen { language: "cuda", kernel, tallies: &none };
        let all = findings(&[seen], &[(kernel.to_owned(), Pins::default())].into(), &["cuda"]);
        assert!(all.iter().any(|f| f.contains("copy_cells: rendered, and listed as not")), "{all:?}");
    }
}
