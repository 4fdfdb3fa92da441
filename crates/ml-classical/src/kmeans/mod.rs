//! k-means clustering: Lloyd's iteration with greedy k-means++, k-means||, random or given starting centres.
//!
//! What a fit does, in the terms of `docs/contract.md`; every step is a primitive or exact scalar arithmetic on the host:
//!
//! - **Assignment**: the nearest centre by squared distance (contractions), ties to the lowest centre (order).
//! - **Update**: the sum of a cluster's rows (scatter), divided by their number as a float (operations).
//! - **Empty clusters**, the lowest first, each take the row that is farthest from its centre, ties to the lowest row,
//!   out of that row's cluster, before sums are formed; unless every row lies on its centre. A cluster that is still
//!   empty, because nothing was to be taken or because its only row was taken, sits on the centre of the largest
//!   cluster, ties to the lowest.
//! - **Stop**: when the squared movement of all centres together is at most `tol` times the mean variance of the
//!   columns. The movement is summed on the host in double precision, in row-major order. Unless empty clusters are
//!   filled, a labelling that repeats moves no centre, so it stops the iteration under every `tol`.
//! - **Inertia**: the sum of the squared distances (sums). If the last update moved a centre, rows are assigned once
//!   more, so that labels and inertia always belong to the centres.
//! - **Several starts** (`n_init`): the lowest inertia wins, ties to the earliest start.
//!
//! S. Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28 (1982).

mod init;
mod lloyd;
mod model;
mod params;
mod rows;

use ml_core::canon::canon;
use ml_core::{Matrix, Result};
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::{Context, distances, reduce};

use crate::finite::all_finite;
use crate::record::{record_f32, record_u32};
use crate::traits::Fit;
use lloyd::Run;
use params::Plan;
use rows::Rows;

pub use model::KMeansModel;
pub use params::{Algorithm, Init, KMeans, NInit};

impl Fit for KMeans {
    type Model = KMeansModel;

    /// Clusters the rows of `x`.
    ///
    /// Stages: `kmeans.tol`, and for each start `kmeans.init` and, numbered from 1, `kmeans.iter1.labels`, `.centroids`
    /// and `.inertia`; at the end `kmeans.labels`, `kmeans.centroids`, `kmeans.inertia`, and the decisions
    /// `kmeans.n_iter` and `kmeans.best_run`. With several starts the stages of one begin with `kmeans.run0`. Progress
    /// comes as `kmeans.lloyd`, one step an iteration, its metric the squared movement of the centres.
    fn fit_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<KMeansModel> {
        let plan = self.check(x)?;
        let device = cx.device().clone();
        let rows = Rows::upload(&device, x)?;
        let tol = movement_tolerance(&rows, plan.tol)?;
        record_f32(cx, "kmeans.tol", &[], &[canon(tol as f32)])?;

        let mut start = 0;
        let mut run = attempt(&rows, &plan, start, tol, cx)?;
        for other in 1..plan.n_runs {
            let candidate = attempt(&rows, &plan, other, tol, cx)?;
            // pathway: P73
            if candidate.inertia < run.inertia {
                (start, run) = (other, candidate);
            }
        }
        let labels = run.labels.read()?;
        record_u32(cx, "kmeans.labels", &labels)?;
        record_f32(cx, "kmeans.centroids", &[plan.n_clusters, rows.d], &run.centers)?;
        record_f32(cx, "kmeans.inertia", &[], &[run.inertia])?;
        cx.decision("kmeans.n_iter", u64::from(run.n_iter));
        cx.decision("kmeans.best_run", u64::from(start));
        let outcome = run.outcome(start);
        let centers = Matrix::from_vec(plan.n_clusters, rows.d, run.centers)?;
        Ok(KMeansModel::new(self, &plan, centers, labels, &outcome))
    }
}

/// Start number `start`, from its first centres to its stop.
fn attempt(rows: &Rows<'_>, plan: &Plan<'_>, start: u32, tol: f64, cx: &mut Context<'_>) -> Result<Run> {
    let tag = if plan.n_runs == 1 { "kmeans".to_owned() } else { format!("kmeans.run{start}") };
    let centers = init::centers(rows, plan, start, &tag, cx)?;
    record_f32(cx, &format!("{tag}.init"), &[plan.n_clusters, rows.d], &centers)?;
    lloyd::iterate(rows, centers, plan.max_iter, tol, &tag, cx)
}

/// `tol` times the mean variance of the columns: the squared movement below which the centres stand still.
///
/// The sum of the squared distances to the mean row is that mean variance times n d, and needs no second copy of `x`.
fn movement_tolerance(rows: &Rows<'_>, tol: f32) -> Result<f64> {
    if tol == 0.0 {
        return Ok(0.0);
    }
    let sums = reduce::col_sums(rows.device, &rows.x, rows.n, rows.d)?;
    let mean =
        map(rows.device, &(Expr::input(0) / Expr::scalar(0)), &[Operand::Row(&sums)], &[rows.n as f32], 1, rows.d)?;
    let (_, squared) = distances::nearest(rows.device, &rows.x, &mean, rows.n, 1, rows.d)?;
    let total = reduce::sum(rows.device, &squared)?.read()?;
    all_finite("kmeans.tol", &total)?;
    let total: f64 = total.iter().map(|t| f64::from(*t)).sum();
    Ok(total / (rows.n as f64 * rows.d as f64) * f64::from(tol))
}
