//! Conformance cases of the scalar functions: the device's map of bits against [`Function::apply`].

use super::sweep::{Function, sweep_on};
use crate::conformance::{Case, bytes, limited};

/// Inputs of one case.
const COUNT: usize = 1 << 14;

/// First inputs: subnormals and the flush bound, around 1, overflow and flush of exp, around -1, infinity and NaN.
const FIRST: [u32; 6] = [0x007f_e000, 0x3f7f_e000, 0x42b1_6000, 0xc2ae_9000, 0xbf7f_e000, 0x7f7f_e000];

/// Every function on inputs where something changes; the first of them also in pieces.
pub fn cases() -> Vec<Case> {
    let case = |function: Function, first: u32, small: bool| Case {
        op: "num",
        name: format!("{} from {first:08x}{}", function.name(), if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            Ok(bytes(&sweep_on(&limited(device, small), function, first, first, COUNT)?.read()?))
        }),
        reference: Box::new(move || {
            let results: Vec<u32> = (0..COUNT as u32).map(|i| function.apply(first.wrapping_add(i), first)).collect();
            bytes(&results)
        }),
    };
    let of = |&function: &Function| {
        let pieces = case(function, FIRST[0], true);
        FIRST.map(|first| case(function, first, false)).into_iter().chain([pieces])
    };
    Function::ALL.iter().flat_map(of).collect()
}
