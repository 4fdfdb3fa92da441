//! Host memory for results, in large pages where the system has them.
//!
//! A result of some hundred megabytes in pages of 4 KiB costs more in page faults than in arithmetic.

/// Bytes of a large page, and the alignment at which one can begin.
#[cfg(target_os = "linux")]
const PAGE: usize = 2 << 20;

/// `n` zeros that no thread has touched yet, so that their pages come to be where they are first written.
pub(crate) fn zeros<T: bytemuck::Zeroable>(n: usize) -> Vec<T> {
    let mut out = bytemuck::zeroed_vec(n);
    ask_for_large_pages(out.as_mut_ptr(), n);
    out
}

/// A copy of `from`.
pub(crate) fn copied<T: Copy>(from: &[T]) -> Vec<T> {
    let mut out = Vec::with_capacity(from.len());
    ask_for_large_pages(out.as_mut_ptr(), from.len());
    out.extend_from_slice(from);
    out
}

/// Asks for large pages in `n` elements from `start` on, which are this caller's.
#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(start: *mut T, n: usize) {
    let begin = (start as usize).next_multiple_of(PAGE);
    let end = (start as usize + n * size_of::<T>()) / PAGE * PAGE;
    if end > begin {
        // SAFETY: the range lies within memory that the caller has allocated and not given away. The advice changes no
        // contents; where it cannot be followed, nothing happens.
        unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_: *mut T, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_every_size_is_what_it_should_be() {
        for n in [0, 1, 1000, (3 << 20) + 5] {
            assert!(zeros::<u32>(n) == vec![0; n]);
            let values: Vec<u32> = (0..n as u32).collect();
            assert!(copied(&values) == values);
        }
    }
}
