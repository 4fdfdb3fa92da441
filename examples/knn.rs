//! Classifies the images of the Fashion-MNIST fixture by their nearest neighbours.
//!
//! ```text
//! cargo run --example knn                                        on the host
//! cargo run --example knn --features wgpu -- vulkan:0            on a GPU: the same lines, to the last digit
//! ```

use isobit::core::readers::read_idx_u8;
use isobit::prelude::*;

fn main() -> Result<()> {
    let device: Device = std::env::args().nth(1).as_deref().unwrap_or("host").parse()?;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/fashion-mnist");
    let part = |name: &str| -> Result<(Matrix, Vec<u32>)> {
        let images = read_idx_u8(format!("{folder}/{name}-images.idx3-ubyte"))?.to_matrix()?;
        Ok((images, read_idx_u8(format!("{folder}/{name}-labels.idx1-ubyte"))?.to_labels()?))
    };
    let (x, labels) = part("train")?;
    let (unseen, truth) = part("test")?;

    for weights in [Weights::Uniform, Weights::Distance] {
        let knn = KNeighborsClassifier::new().n_neighbors(5).weights(weights).fit(&x, &labels, &device)?;
        println!("{weights:?} weights: accuracy {}", knn.score(&unseen, &truth, &device)?);
    }

    let knn = KNeighborsClassifier::new().weights(Weights::Distance).fit(&x, &labels, &device)?;
    let first = unseen.slice_rows(0..1)?;
    let (distances, indices) = knn.kneighbors(&first, &device)?;
    println!("the first unseen image is {}; nearest to it are:", knn.predict(&first, &device)?[0]);
    for (i, distance) in indices.iter().zip(distances.row(0)) {
        println!("  image {i} of class {} at distance {distance}", labels[*i as usize]);
    }
    let probabilities = knn.predict_proba(&first, &device)?;
    for (class, p) in knn.classes().iter().zip(probabilities.row(0)).filter(|(_, p)| **p > 0.0) {
        println!("  class {class} with probability {p}");
    }

    // A parameter that is not offered is refused by name.
    if let Err(e) = KNeighborsClassifier::new().p(1.0).fit(&x, &labels, &device) {
        println!("{e}");
    }
    Ok(())
}
