//! Linear models: ordinary least squares and ridge regression.
//!
//! What a fit does, in the terms of `docs/contract.md`; every step is a primitive or double-precision arithmetic on the
//! host in one fixed order:
//!
//! - **Centring** (unless `fit_intercept` is false): a column's sum (sums) over the number of rows, then the mean of what
//!   is left in the same way; a column of equal elements has that element as its mean. Columns are multiplied by powers of
//!   two, so that their widest deviation is from 1 to 2. The target likewise.
//! - **Normal equations**: X' X (contractions). For ridge, alpha times the squared scale is added to the diagonal, and the
//!   equations are brought to a diagonal of 1 to 4 by powers of two and factored (`linalg::cholesky`). Ordinary least
//!   squares, and ridge where the factor fails or its first correction is more than a 64th of the first solution, turn the
//!   columns by eigenvectors first.
//! - **Rank**: after turning, directions that are shorter than 2^-20 times the longest and the root of the number of
//!   columns are dropped (columns taken at equal length), and of the rest, brought to equal length, those whose squared
//!   length is below 2^-18 of the longest.
//! - **Steps**: one solve and three corrections. Each takes the gradient X' r, formed in an exact and a small part (sums),
//!   solves for a change, rounds that to single precision, takes X times the change (contractions) off the residual r, and
//!   the residual's mean (sums) off that. Changes add up in double precision.
//! - **Shortest solution**: where directions were dropped, coefficients are made orthogonal to them, in the data's own
//!   units.
//! - **Prediction**: rows times coefficients (contractions), then plus the intercept (operations).

mod basis;
mod fit;
mod model;
mod params;
pub(crate) mod scale;
mod solve;

pub use model::{LinearRegressionModel, RidgeModel};
pub use params::{LinearRegression, Ridge, RidgeSolver};
