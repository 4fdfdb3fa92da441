//! A progress bar on the error stream, where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use isobit::core::{Progress, Step};

/// Shows the steps of a fit or a prediction.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar that turns from now on.
    pub fn new(what: &str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(what.to_owned());
        bar.set_style(style("{spinner} {elapsed} {msg}"));
        bar.enable_steady_tick(Duration::from_millis(100));
        Bar(bar)
    }

    /// Takes the bar off the screen.
    pub fn finish(self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn step(&self, step: &Step) {
        if let Some(total) = step.total
            && self.0.length() != Some(total)
        {
            self.0.set_length(total);
            self.0.set_style(style("{spinner} {elapsed} {bar:30} {pos}/{len} {msg}"));
        }
        self.0.set_position(step.done);
        self.0.set_message(match step.metric {
            Some(metric) => format!("{} {metric:e}", step.stage),
            None => step.stage.to_owned(),
        });
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates' keys are indicatif's own")
}
