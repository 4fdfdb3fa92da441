//! What trees are grown and asked with: binned columns, integer sums by node and bin, the best split of each node, rows
//! parted by splits, and the walk of rows through trees.
//!
//! Gradients become integers once a tree (`quantise`); every sum after that is exact and has no order, so a histogram may
//! be built in any way and a sibling may be had by subtraction. Floats appear only where a split is weighed.

pub(crate) mod bins;
pub(crate) mod histogram;
pub(crate) mod partition;
pub(crate) mod quantise;
pub(crate) mod split;
mod value;
pub(crate) mod walk;

pub use bins::{BinRule, Bins, bin_rows};
pub use partition::{RowSets, SplitAt, add_leaf_values, partition};
pub use walk::{FlatNode, FlatTree, Forest, walk, walk_bins, walk_sum};

pub use histogram::{Histograms, histograms, node_sums};
pub use quantise::{MAX_CHANNELS, Quantised, quantise, quantise_sharing};
pub use split::{CommonSplit, Criterion, Limits, MAX_SET, Split, SplitRule, best_common_split, best_splits};
