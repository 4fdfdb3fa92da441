//! The specification of gather and scatter: plain loops.

/// Indices are within the table.
pub(super) fn gather_rows(table: &[f32], indices: &[u32], cols: usize) -> Vec<f32> {
    let mut out = Vec::new();
    for &index in indices {
        for c in 0..cols {
            out.push(table[index as usize * cols + c]);
        }
    }
    out
}

/// Indices are below `out_rows`.
pub(super) fn scatter_rows(source: &[f32], indices: &[u32], out_rows: usize, cols: usize) -> Vec<f32> {
    let mut out = vec![0.0; out_rows * cols];
    for (i, &index) in indices.iter().enumerate() {
        for c in 0..cols {
            out[index as usize * cols + c] = source[i * cols + c];
        }
    }
    out
}
