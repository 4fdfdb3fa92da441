//! Clusters the images of the Fashion-MNIST fixture, saves the model and uses it again.
//!
//! ```text
//! cargo run --example kmeans                                        on the host
//! cargo run --example kmeans --features wgpu -- vulkan:0            on a GPU: the same lines, to the last digit
//! ```

use isobit::core::readers::read_idx_u8;
use isobit::prelude::*;

fn main() -> Result<()> {
    let device: Device = std::env::args().nth(1).as_deref().unwrap_or("host").parse()?;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/fashion-mnist");
    let x = read_idx_u8(format!("{folder}/train-images.idx3-ubyte"))?.to_matrix()?;
    let classes = read_idx_u8(format!("{folder}/train-labels.idx1-ubyte"))?.to_labels()?;

    let progress = |step: &Step| eprint!("\r{:<24}{:>5}", step.stage, step.done);
    let model = KMeans::new(10).seed(42).n_init(3).fit_in(&x, &mut Context::new(&device).with_progress(&progress))?;
    eprintln!();
    println!("inertia {:e} after {} iterations of start {}", model.inertia(), model.n_iter(), model.best_run());
    match model.stop() {
        Stop::Converged { iter } => println!("the centres stood still after iteration {iter}"),
        Stop::MaxIter => println!("the centres still moved when the iterations ended"),
    }

    // The share of images that lie in a cluster where their class is the most frequent one.
    let mut counts = vec![[0usize; 10]; 10];
    for (cluster, class) in model.labels().iter().zip(&classes) {
        counts[*cluster as usize][*class as usize] += 1;
    }
    let hits: usize = counts.iter().filter_map(|c| c.iter().max()).sum();
    println!("purity {:.4}", hits as f64 / classes.len() as f64);

    let path = std::env::temp_dir().join("isobit-example-kmeans.safetensors");
    model.save(&path)?;
    let loaded = KMeansModel::load(&path)?;
    let unseen = read_idx_u8(format!("{folder}/test-images.idx3-ubyte"))?.to_matrix()?.slice_rows(0..8)?;
    println!("clusters of 8 unseen images: {:?}", loaded.predict(&unseen, &device)?);
    Ok(())
}
