//! The half of a symmetric result that is not computed.

use cubecl::prelude::*;

/// Puts into each cell right of the diagonal its mirror image; `c` is (item, row, column), `m` rows and columns.
#[cube(launch_unchecked)]
pub(super) fn mirror(c: &mut Array<f32>, batch: u32, m: u32) {
    let m = m as usize;
    let i = ABSOLUTE_POS;
    if i < batch as usize * m * m {
        let col = i % m;
        let row = i / m % m;
        if col > row {
            c[i] = c[i / m / m * m * m + col * m + row];
        }
    }
}
