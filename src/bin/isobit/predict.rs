//! `predict` and `transform`: uses a model on a CSV file.

use std::path::PathBuf;

use isobit::core::model::ModelReader;
use isobit::core::readers::Table;
use isobit::prelude::*;

use crate::data::{cell, for_model, write};
use crate::error::{Error, Result};
use crate::estimators::{Model, Predicted, load};
use crate::progress::Bar;

/// What both subcommands take.
#[derive(clap::Args)]
struct Common {
    /// The model, whichever estimator it is of
    #[arg(value_name = "MODEL.safetensors")]
    model: PathBuf,
    /// The rows; the columns of the fit are taken from it by their names, others are left out
    #[arg(long, value_name = "FILE.csv")]
    data: PathBuf,
    /// Columns to use, for a model that does not know the names of its own
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    columns: Vec<String>,
    /// Where to work: host, host:THREADS, cuda:I, vulkan:I, vulkan:NAME, hip:I or metal:I; changes no bit of the result
    #[arg(long, value_name = "NAME", default_value = "host")]
    device: String,
    /// Where the result goes; the standard output by default
    #[arg(long, value_name = "FILE.csv")]
    out: Option<PathBuf>,
}

/// Predict one value for each row of a CSV file.
///
/// The result has the column `prediction`: clusters of kmeans, classes of knn-classifier, numbers of the others.
#[derive(clap::Args)]
pub struct PredictArgs {
    #[command(flatten)]
    common: Common,
    /// The probability of each class instead, for knn-classifier: columns `probability_CLASS`
    #[arg(long)]
    proba: bool,
}

/// Map each row of a CSV file to another space: components of pca, distances to the centres of kmeans.
///
/// The columns of the result are called `pca0`, `pca1`, … or `kmeans0`, ….
#[derive(clap::Args)]
pub struct TransformArgs {
    #[command(flatten)]
    common: Common,
}

/// A model and its rows, on a device.
struct Work {
    kind: String,
    model: Box<dyn Model>,
    data: PathBuf,
    table: Table,
    device: Device,
}

impl Common {
    fn open(&self) -> Result<Work> {
        let device: Device = self.device.parse()?;
        let file = ModelReader::open_any(&self.model)?;
        let model = load(&file)?;
        let table = for_model(&self.data, &file, &self.columns)?;
        Ok(Work { kind: file.kind().to_owned(), model, data: self.data.clone(), table, device })
    }
}

impl Work {
    /// Runs `act` under a progress bar; `what` names it where the model has no such thing.
    fn run<T>(
        &self,
        what: &str,
        act: impl FnOnce(&dyn Model, &Matrix, &mut Context<'_>) -> Option<isobit::Result<T>>,
    ) -> Result<T> {
        let bar = Bar::new(&self.kind);
        let mut cx = Context::new(&self.device).with_progress(&bar);
        let done = act(&*self.model, &self.table.matrix, &mut cx);
        bar.finish();
        let done = done.ok_or_else(|| Error::Choice(format!("a {} cannot {what}", self.kind)))??;
        if !self.table.left_out.is_empty() {
            eprintln!("{}: left out: {}", self.data.display(), self.table.left_out.join(", "));
        }
        Ok(done)
    }
}

/// Runs `predict`.
///
/// # Errors
/// What was given and cannot be used, or work that failed.
pub fn predict(args: &PredictArgs) -> Result<()> {
    let work = args.common.open()?;
    let out = args.common.out.as_deref();
    if args.proba {
        let (classes, table) = work.run("predict probabilities", |model, x, cx| model.probabilities(x, cx))?;
        let columns: Vec<String> = classes.iter().map(|c| format!("probability_{c}")).collect();
        return write(out, &columns, rows(&table));
    }
    let columns = ["prediction".to_owned()];
    match work.run("predict", |model, x, cx| model.predict(x, cx))? {
        Predicted::Classes(classes) => write(out, &columns, classes.iter().map(|c| vec![c.to_string()])),
        Predicted::Numbers(numbers) => write(out, &columns, numbers.iter().map(|v| vec![cell(*v)])),
    }
}

/// Runs `transform`.
///
/// # Errors
/// What was given and cannot be used, or work that failed.
pub fn transform(args: &TransformArgs) -> Result<()> {
    let work = args.common.open()?;
    let table = work.run("transform", |model, x, cx| model.transform(x, cx))?;
    let kind = work.kind.to_lowercase();
    let columns: Vec<String> = (0..table.cols()).map(|i| format!("{kind}{i}")).collect();
    write(args.common.out.as_deref(), &columns, rows(&table))
}

fn rows(table: &Matrix) -> impl Iterator<Item = Vec<String>> + '_ {
    (0..table.rows()).map(|i| table.row(i).iter().map(|v| cell(*v)).collect())
}
