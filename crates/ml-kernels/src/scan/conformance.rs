//! Conformance cases of the exclusive scan.

use super::{exclusive_scan, reference};
use crate::buffer::Buffer;
use crate::conformance::{Case, bytes, limited, scramble};

fn case(n: usize, wide: bool, small: bool) -> Case {
    let x: Vec<u32> = (0..n as u32).map(|i| if wide { scramble(i) } else { scramble(i) % 3 }).collect();
    let y = x.clone();
    let join = |(before, total): (Vec<u32>, u32)| [bytes(&before), bytes(&[total])].concat();
    Case {
        op: "exclusive_scan",
        name: format!("{n}{}{}", if wide { " wrapping" } else { "" }, if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (before, total) = exclusive_scan(&device, &Buffer::upload(&device, &x)?)?;
            Ok(join((before.read()?, total)))
        }),
        reference: Box::new(move || join(reference::exclusive_scan(&y))),
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [0, 1, 2, 255, 256, 1023, 1024, 1025, 2048, 4097, 100_003, 1_050_001] {
        cases.push(case(n, n % 2 == 1, false));
    }
    for n in [1, 1024, 1025, 5000, 20_001] {
        cases.push(case(n, true, true));
    }
    cases.extend(super::cumulative::conformance::cases());
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::assert_reference;

    #[test]
    // pathway test: P57
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }
}
