//! `fit`: trains an estimator on a CSV file and saves the model.

use std::path::{Path, PathBuf};

use isobit::core::Dtype;
use isobit::core::files::write_atomic;
use isobit::prelude::*;
use ml_identity::card::{Card, Header, Outcome};
use ml_identity::{Certificate, Digest, Fixture, StageRecorder};
use serde_json::json;

use crate::data::{FEATURE_NAMES, Training, classes, training};
use crate::error::{Error, Result};
use crate::estimators::{ALL, Estimator, Needs, Target, by_name};
use crate::params::pairs;
use crate::progress::Bar;

/// Train an estimator on a CSV file and save the model.
///
/// The file has a header line and a finite number in every cell that is used. Parameters have scikit-learn's names and
/// defaults; `isobit fit --help` lists them.
#[derive(clap::Args)]
#[command(after_long_help = parameters(), after_help = "With --help: every estimator and its parameters.")]
pub struct Args {
    /// What to train: kmeans, knn-classifier, knn-regressor, pca, linear or ridge
    estimator: String,
    /// The data
    #[arg(long, value_name = "FILE.csv")]
    data: PathBuf,
    /// Column to predict: classes for knn-classifier, numbers for knn-regressor, linear and ridge
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Columns to learn from, in this order; all but the target by default
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    columns: Vec<String>,
    /// A parameter; may be given again
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Where to train: host, host:THREADS, cuda:I, vulkan:I, vulkan:NAME, hip:I or metal:I; changes no bit of the model
    #[arg(long, value_name = "NAME", default_value = "host")]
    device: String,
    /// Where the model goes
    #[arg(long, value_name = "MODEL.safetensors")]
    out: PathBuf,
    /// Also write an identity card, for `cargo xtask compare`: digests of every intermediate and of the model
    #[arg(long, value_name = "FILE.json")]
    card: Option<PathBuf>,
}

/// Runs the subcommand.
///
/// # Errors
/// What was given and cannot be used, or work that failed.
pub fn run(args: &Args) -> Result<()> {
    // Cheapest first: a wrong name should not wait for a large file.
    let estimator = by_name(&args.estimator)?;
    let given = pairs(&args.params)?;
    estimator.check(&given)?;
    match (estimator.needs(), &args.target) {
        (Needs::Nothing, None) | (Needs::Classes | Needs::Numbers, Some(_)) => {}
        (needs, _) => return Err(Error::Choice(format!("{} needs {}", estimator.kind(), needs.in_words()))),
    }
    let device: Device = args.device.parse()?;
    let Training { columns, x, y } = training(&args.data, &args.columns, args.target.as_deref())?;
    let target = match (estimator.needs(), y, &args.target) {
        (Needs::Classes, Some(y), Some(column)) => Target::Classes(classes(&args.data, column, &y)?),
        (Needs::Numbers, Some(y), _) => Target::Numbers(y),
        _ => Target::None,
    };

    let mut recorder = StageRecorder::new();
    let bar = Bar::new(estimator.kind());
    let fitted = {
        let mut cx = Context::new(&device).with_progress(&bar);
        if args.card.is_some() {
            cx = cx.with_recorder(&mut recorder);
        }
        estimator.fit(&given, &x, &target, &mut cx)
    };
    bar.finish();
    let model = fitted?.param(FEATURE_NAMES, json!(columns)).to_bytes()?;
    write_atomic(&args.out, &model).map_err(Error::write(&args.out))?;
    println!("{} of {} rows and {} columns, on {}", estimator.kind(), x.rows(), x.cols(), device.name());
    println!("{} {}", Digest::of(&model), args.out.display());
    match &args.card {
        Some(path) => {
            // The last stage, and the only one of an estimator that merely remembers its rows. A file's length is a
            // multiple of 4, because its header's is and each element has 4 or 8 bytes.
            recorder.record("model", Dtype::U32, &[model.len() / 4], &model);
            card(path, &args.data, estimator, &device, x, target, recorder)
        }
        None => Ok(()),
    }
}

/// Writes the card of a fit: a certificate that holds one run.
fn card(
    path: &Path,
    data: &Path,
    estimator: &dyn Estimator,
    device: &Device,
    x: Matrix,
    target: Target,
    recorder: StageRecorder,
) -> Result<()> {
    // The name alone: two machines may keep the same file in different folders, and its digests tell whether it is.
    let name = data.file_name().unwrap_or(data.as_os_str()).to_string_lossy().into_owned();
    let (numbers, classes) = match target {
        Target::None => (None, None),
        Target::Numbers(y) => (Some(y), None),
        Target::Classes(y) => (None, Some(y)),
    };
    let fixture = Fixture::new(name, x, numbers, classes, None)?;
    let features = [
        ("cuda", cfg!(feature = "cuda")),
        ("hip", cfg!(feature = "hip")),
        ("wgpu", cfg!(feature = "wgpu")),
        ("wgpu-spirv", cfg!(feature = "wgpu-spirv")),
    ];
    let header = Header {
        git_commit: std::env::var("ISOBIT_COMMIT").unwrap_or_else(|_| "unknown".to_owned()),
        features: features.into_iter().filter(|(_, on)| *on).map(|(name, _)| name.to_owned()).collect(),
        fixture_digests: fixture.digests().clone(),
        command: std::iter::once("isobit".to_owned()).chain(std::env::args().skip(1)).collect::<Vec<_>>().join(" "),
        ..Header::on(device, estimator.kind(), fixture.name())
    };
    let certificate = Certificate::new(vec![Card::new(header, Outcome::Ran, recorder.finish()?)?])?;
    certificate.save(path)?;
    println!("{} {}", certificate.root(), path.display());
    Ok(())
}

/// Every estimator with its parameters and defaults, for `--help`.
fn parameters() -> String {
    let mut text = "Estimators, and the parameters of each with what it takes (and its default):\n".to_owned();
    for estimator in ALL {
        text += &format!("\n  {:<16}{}\n", estimator.name(), estimator.about());
        for (name, takes) in estimator.params() {
            text += &format!("    {name:<22}{takes}\n");
        }
    }
    text
}
