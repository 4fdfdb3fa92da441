//! Conformance cases of `qr`.

use super::super::conformance::{KINDS, matrix};
use super::super::dense::single;
use super::*;
use crate::conformance::{Case, bytes, limited};

fn case(kind: &str, m: usize, n: usize, small: bool) -> Case {
    let a = matrix(kind, m, n);
    let wide: Vec<f64> = a.iter().map(|&x| f64::from(x)).collect();
    Case {
        op: "qr",
        name: format!("{kind} {m}x{n}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (q, r) = qr(&device, &Buffer::upload(&device, &a)?, m, n)?;
            Ok([bytes(&q.read()?), bytes(&r.read()?)].concat())
        }),
        reference: Box::new(move || {
            let (q, r) = reference::qr(&wide, m, n);
            let narrow = |x: &[f64]| bytes(&single("qr", x).unwrap_or_default());
            [narrow(&q), narrow(&r)].concat()
        }),
    }
}

pub(in super::super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (m, n) in [(0, 0), (0, 4), (4, 0), (1, 1), (1, 9), (9, 1), (63, 64), (65, 64), (70, 290), (300, 20), (160, 150)]
    {
        cases.push(case("plain", m, n, false));
    }
    for kind in KINDS {
        cases.push(case(kind, 150, 140, false));
    }
    for small in [false, true] {
        cases.push(case("plain", 90, 80, small));
    }
    cases
}
