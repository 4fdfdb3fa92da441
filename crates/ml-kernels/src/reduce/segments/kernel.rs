//! The kernel: the chunks of all segments are counted together, and each finds the segment that it belongs to.

use std::ops::Range;

use cubecl::prelude::*;
use ml_core::Result;

use super::super::sums::{CHUNK, LANES, TILE, Term, join_tile, lane_sum};
use crate::buffer::{Chunks, In};
use crate::device::gpu::{ALIGN_BYTES, CUBE, Gpu};
use crate::num::Pins;
use crate::sabotage::Arm;

pub(super) fn segment_sums<R: Runtime>(g: &Gpu<R>, x: &Chunks<f32>, offsets: &[u32], arm: Arm) -> Result<Chunks<f32>> {
    if offsets.len() < 2 {
        return Chunks::alloc(g, 0);
    }
    let mut firsts = chunk_counts(offsets);
    let mut sums = level(g, x, offsets, &firsts, arm)?;
    while sums.len() + 1 > offsets.len() {
        let bounds = firsts;
        firsts = chunk_counts(&bounds);
        sums = level(g, &sums, &bounds, &firsts, arm)?;
    }
    Ok(sums)
}

/// The number of chunks of all segments before each segment, and of all. An empty segment has one.
fn chunk_counts(bounds: &[u32]) -> Vec<u32> {
    let mut firsts = Vec::with_capacity(bounds.len());
    let mut count = 0;
    firsts.push(0);
    for pair in bounds.windows(2) {
        // At most as many as there are elements and segments, both of which a device counts in 32 bits.
        count += (pair[1] - pair[0]).div_ceil(CHUNK as u32).max(1);
        firsts.push(count);
    }
    firsts
}

/// The chunk sums of each segment.
fn level<R: Runtime>(g: &Gpu<R>, x: &Chunks<f32>, bounds: &[u32], firsts: &[u32], arm: Arm) -> Result<Chunks<f32>> {
    let (segments, limit) = (bounds.len() - 1, g.max_elements::<f32>());
    let out = Chunks::alloc(g, firsts[segments] as usize)?;
    // So few segments at a time that a binding holds their bounds, and the sums of as many chunks as it has elements for.
    for first in (0..segments).step_by(limit / 2) {
        let end = (first + limit / 2).min(segments);
        let panel = Panel::new(g, &bounds[first..=end], &firsts[first..=end])?;
        let mut item = firsts[first];
        while item < firsts[end] {
            let base = panel.base(item, limit);
            let run = panel.run(item, base + limit);
            item = run.end;
            panel.launch(g, x, &out, base, run, arm)?;
        }
    }
    Ok(out)
}

/// Consecutive segments whose bounds lie on the device.
struct Panel<'a> {
    bounds: &'a [u32],
    firsts: &'a [u32],
    on_device: [In; 2],
}

impl<'a> Panel<'a> {
    fn new<R: Runtime>(g: &Gpu<R>, bounds: &'a [u32], firsts: &'a [u32]) -> Result<Self> {
        let upload = |words: &[u32]| -> Result<In> { Ok(In { handle: g.upload_one(words)?, len: words.len() }) };
        Ok(Panel { bounds, firsts, on_device: [upload(bounds)?, upload(firsts)?] })
    }

    /// The segment of chunk `item`, counted within the panel.
    fn segment(&self, item: u32) -> usize {
        self.firsts.partition_point(|first| *first <= item) - 1
    }

    /// The first element of chunk `item`; of the one after the last, the end.
    fn start(&self, item: u32) -> usize {
        let segment = self.segment(item);
        self.bounds[segment] as usize + (item - self.firsts[segment]) as usize * CHUNK
    }

    /// Where a binding begins that holds chunk `item`: where it may without a copy, if the chunk has room behind that.
    fn base(&self, item: u32, limit: usize) -> usize {
        let start = self.start(item);
        let aligned = start - start % (ALIGN_BYTES as usize / size_of::<f32>());
        if self.end(item) <= aligned + limit { aligned } else { start }
    }

    /// The chunks from `item` on, the first of which ends before element `end`, that do so.
    fn run(&self, item: u32, end: usize) -> Range<u32> {
        // Chunks lie in order.
        let (mut low, mut high) = (item + 1, self.firsts[self.firsts.len() - 1]);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.end(middle - 1) <= end {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        item..low
    }

    /// The end of chunk `item`.
    fn end(&self, item: u32) -> usize {
        let segment = self.segment(item);
        (self.start(item) + CHUNK).min(self.bounds[segment + 1] as usize)
    }

    fn launch<R: Runtime>(
        &self,
        g: &Gpu<R>,
        x: &Chunks<f32>,
        out: &Chunks<f32>,
        base: usize,
        run: Range<u32>,
        arm: Arm,
    ) -> Result<()> {
        let elements = base..self.end(run.end - 1);
        let view = x.view(g, elements.clone())?;
        let result = out.view_out(g, run.start as usize..run.end as usize)?;
        let segments = self.segment(run.start)..self.segment(run.end - 1) + 1;
        let [bounds, firsts] = &self.on_device;
        g.guard("segment_sums", 0, || {
            // SAFETY: chunk `i` of the run belongs to one of its segments and lies within its elements, which the view
            // holds; one unit writes element `i`.
            unsafe {
                segment_chunks::launch_unchecked::<R>(
                    g.client(),
                    g.grid(run.len(), TILE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    bounds.arg(),
                    firsts.arg(),
                    result.arg(),
                    run.len() as u32,
                    run.start,
                    elements.start as u32,
                    segments.start as u32,
                    segments.end as u32,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    arm,
                );
            }
        })?;
        out.commit(g, result)
    }
}

/// A workgroup adds up TILE chunks, one unit a lane; eight chunks go side by side.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
// pathway: P98
fn segment_chunks(
    x: &Array<f32>,
    bounds: &Array<u32>,
    firsts: &Array<u32>,
    out: &mut Array<f32>,
    items: u32,
    first_item: u32,
    first_element: u32,
    first_segment: u32,
    end_segment: u32,
    nz: f32,
    one: f32,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let unit = UNIT_POS;
    let lane = unit % 32;
    let tile = CUBE_POS as u32 * TILE;
    let mut lanes = SharedMemory::<f32>::new(comptime!(TILE as usize * (LANES + 1)));
    let mut starts = SharedMemory::<u32>::new(TILE as usize);
    let mut lens = SharedMemory::<u32>::new(TILE as usize);
    // A unit a chunk looks for its segment, all at the same time: a search waits for memory at each of its steps.
    if unit < TILE {
        let mut start = first_element;
        let mut len = 0u32;
        if tile + unit < items {
            let item = first_item + tile + unit;
            // The last segment whose first chunk is not after this one.
            let mut low = first_segment;
            let mut high = end_segment;
            while high - low > 1 {
                let middle = (low + high) / 2;
                if firsts[middle as usize] <= item {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            start = bounds[low as usize] + (item - firsts[low as usize]) * comptime!(CHUNK as u32);
            len = min(bounds[(low + 1) as usize] - start, comptime!(CHUNK as u32).runtime());
        }
        starts[unit as usize] = start - first_element;
        lens[unit as usize] = len;
    }
    sync_cube();
    #[unroll]
    for round in 0..comptime!(TILE / 8) {
        let slot = round * 8 + unit / 32;
        let (start, len) = (starts[slot as usize], lens[slot as usize]);
        let sum = lane_sum(x, start + lane, len, lane, 0.0f32, p, Term::Element, arm);
        lanes[(slot * comptime!(LANES as u32 + 1) + lane) as usize] = sum;
    }
    join_tile(out, &lanes, tile, items, p, arm);
}
