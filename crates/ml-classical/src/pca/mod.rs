//! Principal component analysis through the eigenvectors of the covariance matrix.
//!
//! What a fit does, in the terms of `docs/contract.md`; every step is a primitive or double-precision arithmetic on the
//! host in one fixed order:
//!
//! - **Centring**: a column's sum (sums) over the number of rows, then the mean of what is left in the same way; a column
//!   of equal elements has that element as its mean. All columns are multiplied by one power of two, so that the widest
//!   deviation of all is from 1 to 2.
//! - **Scatter matrix**: X' X of the centred columns (contractions). Its eigenvectors (eigen) are the components.
//! - **Variances**: eigenvalues, negative ones taken as 0, over the number of rows less one and the squared scale; ratios
//!   are over the sum of all eigenvalues. Each is rounded once.
//! - **Transform**: rows less the mean (operations) times components (contractions); whitened, divided by the root of the
//!   variance, which counts as at least 2^-23 (operations).
//!
//! The scatter matrix is formed in single precision, so variances below about a millionth of the largest are rounding.

mod fit;
mod model;
mod params;

pub use model::PcaModel;
pub use params::{NComponents, Pca, SvdSolver};
