//! The conformance suite on devices that write kernels down.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ml_kernels::Device;
use ml_kernels::conformance::cases;
use ml_kernels::device::{Language, Rendered};

use super::operation::{Operation, Pins, Tallies};
use super::{spirv, text};
use crate::error::{Error, Result};

/// One form of a kernel, read.
pub struct Form {
    /// Path of its function.
    pub kernel: String,
    /// Workgroup and build-time parameters.
    pub form: String,
    /// What it does with floats.
    pub tallies: Tallies,
    /// Its source, for people.
    pub source: String,
    /// Its words, of a SPIR-V module.
    pub words: Vec<u32>,
}

/// What was read in one language.
pub struct Audited {
    /// The language, and how the source came to be.
    pub language: &'static str,
    /// Every form of every kernel, in a fixed order.
    pub forms: Vec<Form>,
    /// Cases of the suite.
    pub cases: usize,
    /// Cases that did not come to their end, since nothing computes what they go on with.
    pub early: Vec<String>,
}

impl Audited {
    /// The kernels that were rendered.
    pub fn kernels(&self) -> BTreeSet<&str> {
        self.forms.iter().map(|f| f.kernel.as_str()).collect()
    }
}

/// Name of the SPIR-V that wgpu makes of WGSL.
pub const TRANSLATED: &str = "wgsl-as-spirv";

/// Renders and reads everything.
///
/// # Errors
/// [`Error::Isobit`] if the rendering device itself fails.
pub fn render(kernels: &BTreeMap<String, Pins>) -> Result<Vec<Audited>> {
    // Cases that read what no kernel has computed may stop with a panic, which is told below.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let all: Result<Vec<Audited>> = std::thread::scope(|scope| {
        let work: Vec<_> = Language::ALL.into_iter().map(|l| scope.spawn(move || in_language(l, kernels))).collect();
        let stopped = || Error::Found("a reader of generated code panicked".to_owned());
        work.into_iter().map(|w| w.join().unwrap_or_else(|_| Err(stopped()))).collect()
    });
    std::panic::set_hook(hook);
    let mut all = all?;
    if let Some(wgsl) = all.iter().find(|a| a.language == Language::Wgsl.name()) {
        let forms = wgsl.forms.iter().map(|f| translated(f, kernels)).collect();
        all.push(Audited { language: TRANSLATED, forms, cases: wgsl.cases, early: Vec::new() });
    }
    Ok(all)
}

fn in_language(language: Language, kernels: &BTreeMap<String, Pins>) -> Result<Audited> {
    let device = Device::rendering(language);
    let mut early = Vec::new();
    let cases = cases();
    for case in &cases {
        let done = catch_unwind(AssertUnwindSafe(|| (case.run)(&device)));
        let why = match done {
            Ok(Ok(_)) => continue,
            Ok(Err(e)) => e.to_string(),
            Err(_) => "reads what a kernel should have computed".to_owned(),
        };
        early.push(format!("{} {}: {why}", case.op, case.name));
    }
    // What no primitive uses, in bindings that cost little memory.
    let small = device.with_limits(1 << 20, 65_535);
    ml_kernels::probe::probe(&small).map_err(Error::from)?;
    ml_kernels::peak::measure(&small).map_err(Error::from)?;
    let forms = device.rendered()?.into_iter().map(|r| read(language, r, kernels)).collect();
    Ok(Audited { language: language.name(), forms, cases: cases.len(), early })
}

fn read(language: Language, rendered: Rendered, kernels: &BTreeMap<String, Pins>) -> Form {
    let Rendered { kernel, form, text: source, words, refusal } = rendered;
    let none = Pins::default();
    let pins = kernels.get(&kernel).unwrap_or(&none);
    let tallies = match refusal {
        Some(words) => refused(&words),
        None if language == Language::Spirv => spirv::read(&words, pins),
        None => text::read(matches!(language, Language::Wgsl | Language::WgslNarrow), &source, pins),
    };
    Form { kernel, form, tallies, source, words }
}

fn refused(words: &str) -> Tallies {
    let mut tallies = Tallies::default();
    let words = words.lines().next().unwrap_or_default().to_owned();
    tallies.add(Operation::Unread(format!("the code generator gave up: {words}")), 0, String::new);
    tallies
}

/// The module that wgpu gives a Vulkan driver for a WGSL source.
fn translated(form: &Form, kernels: &BTreeMap<String, Pins>) -> Form {
    let none = Pins::default();
    let pins = kernels.get(&form.kernel).unwrap_or(&none);
    let (words, tallies) = match to_spirv(&form.source) {
        Ok(words) => {
            let tallies = spirv::read(&words, pins);
            (words, tallies)
        }
        Err(words) => (Vec::new(), refused(&words)),
    };
    Form { kernel: form.kernel.clone(), form: form.form.clone(), tallies, source: String::new(), words }
}

fn to_spirv(source: &str) -> Result<Vec<u32>, String> {
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    let module = naga::front::wgsl::parse_str(source).map_err(|e| e.to_string())?;
    let info =
        Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module).map_err(|e| e.to_string())?;
    // As wgpu sets them, but for debug names.
    let options = naga::back::spv::Options { lang_version: (1, 3), ..Default::default() };
    naga::back::spv::write_vec(&module, &info, &options, None).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_is_written_down_in_every_language_and_uploads_come_back() {
        for language in Language::ALL {
            let device = Device::rendering(language);
            let data: Vec<f32> = (0..3000u16).map(f32::from).collect();
            let x = ml_kernels::Buffer::upload(&device, &data).expect("host memory");
            ml_kernels::reduce::sum(&device, &x).expect("launches");
            assert_eq!(x.read().expect("reads"), data, "nothing ran");
            let all = device.rendered().expect("no fault");
            let sums: Vec<&Rendered> =
                all.iter().filter(|r| r.kernel.starts_with("ml_kernels::reduce::sums::")).collect();
            assert!(!sums.is_empty(), "{}: {:?}", language.name(), all.iter().map(|r| &r.kernel).collect::<Vec<_>>());
            for r in sums {
                assert_eq!(r.refusal, None);
                assert!(r.text.contains(r.kernel.rsplit("::").next().unwrap_or_default()), "{}", r.text);
                assert_eq!(r.words.is_empty(), language != Language::Spirv);
            }
        }
    }
}
