//! What trees are grown and asked with: binned columns, integer sums by node and bin, the best split of each node, rows
//! parted by splits, and the walk of rows through trees.
//!
//! Gradients become integers once a tree (`quantise`); every sum after that is exact and has no order, so a histogram may
//! be built in any way and a sibling may be had by subtraction. Floats appear only where a split is weighed.
