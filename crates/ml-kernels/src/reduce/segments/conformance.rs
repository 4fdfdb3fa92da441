//! Conformance cases of sums of segments, and the tests of their arms.

use super::super::conformance::{Data, floats, name};
use super::{reference, segment_sums};
use crate::buffer::Buffer;
use crate::conformance::{Case, bytes, limited, scramble};

/// Offsets of segments of the given lengths, the first of which starts at `first`.
fn offsets(first: u32, lengths: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut offsets = vec![first];
    let mut end = first;
    for length in lengths {
        end += length;
        offsets.push(end);
    }
    offsets
}

/// `n` lengths of all kinds: many without or with few elements, some around a chunk, some of several chunks.
fn mixed(n: u32, seed: u32) -> Vec<u32> {
    let length = |i: u32| {
        let r = scramble(seed.wrapping_mul(0x9e37_79b9).wrapping_add(i));
        match r % 8 {
            0 | 1 => 0,
            2..=4 => (r >> 8) % 40,
            5 => (r >> 8) % 600,
            6 => 1020 + (r >> 8) % 9,
            _ => (r >> 8) % 5000,
        }
    };
    (0..n).map(length).collect()
}

/// Segments of `x`, behind the last of which some elements are left.
fn case(what: &str, offsets: Vec<u32>, data: Data, small: bool) -> Case {
    let n = offsets[offsets.len() - 1] as usize + 5;
    let x = floats(n, 10, data);
    let (y, o) = (x.clone(), offsets.clone());
    Case {
        op: "segment_sums",
        name: name(what, &[offsets.len() - 1, n], data, small),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (x, offsets) = (Buffer::upload(&device, &x)?, Buffer::upload(&device, &offsets)?);
            Ok(bytes(&segment_sums(&device, &x, &offsets)?.read()?))
        }),
        reference: Box::new(move || bytes(&reference::segment_sums(&y, &o))),
    }
}

pub(in super::super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("none", offsets(3, []), Data::Plain, false),
        case("empty", offsets(0, [0]), Data::Plain, false),
        case("empty", offsets(7, [0; 300]), Data::Plain, false),
        case("one", offsets(0, [1]), Data::Plain, false),
        case("short", offsets(1, (0..3000).map(|i| i % 9)), Data::Plain, false),
        case("of a chunk", offsets(0, [1024; 70]), Data::Plain, false),
        case("around a chunk", offsets(5, [31, 32, 33, 1023, 1024, 1025, 2047, 2048, 2049, 0]), Data::Plain, false),
        case("three levels", offsets(2, [7, 1024 * 1024 + 1, 0, 3, 1024 * 1024, 12]), Data::Plain, false),
    ];
    for data in [Data::Plain, Data::Tiny, Data::Wide, Data::Ties, Data::Zeros] {
        cases.push(case("mixed", offsets(3, mixed(400, 1)), data, false));
        cases.push(case("mixed", offsets(64, mixed(150, 2)), data, true));
    }
    cases.push(case("many", offsets(0, (0..3000).map(|i| u32::from(i % 5 == 0))), Data::Plain, true));
    cases.push(case("long", offsets(1, [9000, 0, 1, 1024 * 3]), Data::Tiny, true));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{assert_reference, test_devices};
    use crate::reduce::sum;

    #[test]
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    /// Wherever a segment lies and whatever lies beside it, its sum is that of a buffer that holds nothing else.
    #[test]
    // pathway test: P98
    fn a_segment_alone_is_the_segment_among_others() {
        for device in test_devices() {
            let offsets = offsets(3, mixed(60, 5));
            let x = floats(offsets[60] as usize, 11, Data::Plain);
            let all = segment_sums(
                &device,
                &Buffer::upload(&device, &x).unwrap(),
                &Buffer::upload(&device, &offsets).unwrap(),
            );
            let all = all.unwrap().read().unwrap();
            for s in 0..60 {
                let alone = &x[offsets[s] as usize..offsets[s + 1] as usize];
                let alone = sum(&device, &Buffer::upload(&device, alone).unwrap()).unwrap().read().unwrap();
                assert_eq!(all[s].to_bits(), alone[0].to_bits(), "{device:?} segment {s}");
            }
        }
    }

    #[test]
    fn wrong_offsets_are_refused() {
        for device in test_devices() {
            let x = Buffer::upload(&device, &[1.0f32; 6]).unwrap();
            let text = |offsets: &[u32]| {
                let offsets = Buffer::upload(&device, offsets).unwrap();
                segment_sums(&device, &x, &offsets).unwrap_err().to_string()
            };
            assert_eq!(text(&[]), "`offsets` must be one more than the segments, got 0");
            assert_eq!(text(&[0, 3, 2, 6]), "`offsets` must be ascending, got 2 at position 2 after 3");
            assert_eq!(text(&[0, 7]), "`offsets` holds index 7 at position 1, the bound is 7");
            assert_eq!(text(&[u32::MAX]), "`offsets` holds index 4294967295 at position 0, the bound is 7");
        }
    }

    #[cfg(feature = "sabotage")]
    #[test]
    fn arms_move_segments() {
        use crate::conformance::Outcome;
        use crate::sabotage::Arm;
        for device in test_devices() {
            for (arm, data) in [(Arm::KeepSubnormals, Data::Tiny), (Arm::SerialLanes, Data::Plain)] {
                // A device that flushes by itself cannot keep subnormals; the arm is tested where it can act.
                if arm == Arm::KeepSubnormals && device.info().adapter.to_lowercase().contains("swiftshader") {
                    continue;
                }
                let outcome = case("mixed", offsets(3, mixed(50, 1)), data, false).check(&device.sabotaged(arm));
                assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} {arm:?}: inert");
            }
        }
    }
}
