//! Raw scores and leaves of an ensemble.

use ml_core::canon::canon;
use ml_core::{DataError, Error, Matrix, Result};
use ml_kernels::trees::{self, FlatNode, FlatTree, Forest};
use ml_kernels::{Buffer, Device, num};

#[cfg(test)]
use crate::ensemble::Tree;
use crate::ensemble::{Aggregate, Arithmetic, Ensemble, Node};

/// Most leaves that are held while the host makes sums.
const LEAVES_AT_ONCE: usize = 1 << 22;

/// An ensemble laid out on a device: for many predictions. [`Ensemble::raw`] makes one for each call.
///
/// # Bit identity
/// That of [`Ensemble::raw`], whatever the device.
#[derive(Debug, Clone)]
pub struct Scorer<'a> {
    ensemble: &'a Ensemble,
    device: Device,
    forest: Forest,
    /// Whether the device makes the sums: binary32, base first.
    sums: bool,
}

impl Scorer<'_> {
    /// As [`Ensemble::raw`].
    ///
    /// # Errors
    /// Those of [`Ensemble::raw`].
    pub fn raw(&self, x: &[f32], rows: usize) -> Result<Vec<f32>> {
        let scores = if self.sums {
            trees::walk_sum(&self.device, &self.seen(x, rows)?, rows, &self.forest)?.read()?
        } else {
            match self.ensemble.arithmetic() {
                Arithmetic::Single => self.folded(x, rows, Ensemble::single)?,
                Arithmetic::Double => {
                    self.folded(x, rows, Ensemble::double)?.into_iter().map(|s| canon(s as f32)).collect()
                }
            }
        };
        match scores.iter().position(|s: &f32| !s.is_finite()) {
            Some(index) => Err(Error::NonFinite { stage: "trees.raw".to_owned(), index }),
            None => Ok(scores),
        }
    }

    /// As [`Ensemble::raw_f64`].
    ///
    /// # Errors
    /// Those of [`Ensemble::raw`].
    pub fn raw_f64(&self, x: &[f32], rows: usize) -> Result<Vec<f64>> {
        let scores = match self.ensemble.arithmetic() {
            Arithmetic::Single => return Ok(self.raw(x, rows)?.into_iter().map(f64::from).collect()),
            Arithmetic::Double => self.folded(x, rows, Ensemble::double)?,
        };
        match scores.iter().position(|s: &f64| !s.is_finite()) {
            Some(index) => Err(Error::NonFinite { stage: "trees.raw".to_owned(), index }),
            None => Ok(scores),
        }
    }

    /// As [`Ensemble::leaves`].
    ///
    /// # Errors
    /// Those of [`Ensemble::leaves`].
    pub fn leaves(&self, x: &[f32], rows: usize) -> Result<Vec<u32>> {
        trees::walk(&self.device, &self.seen(x, rows)?, rows, &self.forest)?.read()
    }

    /// Scores whose sums the host makes, a block of rows after the other: leaves of all rows may be very many.
    fn folded<T>(&self, x: &[f32], rows: usize, fold: impl Fn(&Ensemble, &[u32], usize) -> Vec<T>) -> Result<Vec<T>> {
        self.ensemble.fits(x, rows)?;
        let width = self.ensemble.features();
        let block = (LEAVES_AT_ONCE / self.ensemble.trees().len().max(1)).max(1);
        let mut scores = Vec::with_capacity(rows.saturating_mul(self.ensemble.outputs()));
        let mut from = 0;
        while from < rows {
            let to = rows.min(from + block);
            let leaves = self.leaves(&x[from * width..to * width], to - from)?;
            scores.extend(fold(self.ensemble, &leaves, to - from));
            from = to;
        }
        Ok(scores)
    }

    fn seen(&self, x: &[f32], rows: usize) -> Result<Buffer<f32>> {
        let plain = self.ensemble.inputs().is_empty();
        self.ensemble.fits(x, rows)?;
        // The walk makes numbers canonical itself.
        if plain {
            Buffer::upload(&self.device, x)
        } else {
            Buffer::upload(&self.device, &self.ensemble.seen(x, rows)?)
        }
    }
}

impl Ensemble {
    /// The ensemble laid out on `device`.
    ///
    /// # Errors
    /// [`DataError::TooLarge`] for 2^32 nodes or more, [`DataError::NonFinite`] for a leaf value or a base beyond
    /// binary32 in [`Arithmetic::Single`], and [`ml_core::DeviceError`].
    pub fn on(&self, device: &Device) -> Result<Scorer<'_>> {
        let sums = self.arithmetic() == Arithmetic::Single && self.aggregate() == Aggregate::Sum;
        let flat: Vec<FlatTree> = self
            .trees()
            .iter()
            .zip(self.first_output())
            .map(|(tree, first)| FlatTree {
                nodes: tree.nodes().iter().map(flat_node).collect(),
                values: if sums { tree.values().iter().map(|v| *v as f32).collect() } else { Vec::new() },
                outputs: if sums { tree.outputs() } else { 0 },
                first_output: if sums { *first as usize } else { 0 },
            })
            .collect();
        let base: Vec<f32> = if sums { self.base().iter().map(|b| *b as f32).collect() } else { Vec::new() };
        let forest = Forest::new(device, &flat, self.asked(), &base)?;
        Ok(Scorer { ensemble: self, device: device.clone(), forest, sums })
    }

    /// The raw score of each row, shape (rows, [`Ensemble::outputs`]).
    ///
    /// `x` is row-major, shape (`rows`, [`Ensemble::features`]). A NaN is a missing value; infinities are numbers; what
    /// [`ml_core::canon::canon`] makes zero is zero. In [`Arithmetic::Double`] this is [`Ensemble::raw_f64`] rounded to
    /// binary32 once, in canonical form.
    ///
    /// # Errors
    /// [`DataError::Shape`], [`Error::NonFinite`] for a score that left the finite range (stage `trees.raw`), those of
    /// [`Ensemble::on`] and [`ml_core::DeviceError`].
    ///
    /// # Bit identity
    /// A row's score depends on the ensemble and on that row alone, and is the same on every device. In
    /// [`Arithmetic::Single`] every sum is a binary32 sum in tree order, made canonical.
    pub fn raw(&self, device: &Device, x: &[f32], rows: usize) -> Result<Vec<f32>> {
        self.on(device)?.raw(x, rows)
    }

    /// [`Ensemble::raw`] of a matrix, which has no missing values.
    ///
    /// # Errors
    /// Those of [`Ensemble::raw`].
    ///
    /// # Bit identity
    /// That of [`Ensemble::raw`].
    pub fn predict(&self, device: &Device, x: &Matrix) -> Result<Matrix> {
        ml_core::check::width("x", x.view(), self.features())?;
        Matrix::from_vec(x.rows(), self.outputs(), self.raw(device, x.as_slice(), x.rows())?)
    }

    /// The raw score of each row in binary64, shape (rows, [`Ensemble::outputs`]): that of an ensemble in
    /// [`Arithmetic::Double`] before it is rounded; for [`Arithmetic::Single`], [`Ensemble::raw`] widened.
    ///
    /// # Errors
    /// Those of [`Ensemble::raw`].
    ///
    /// # Bit identity
    /// That of [`Ensemble::raw`]; sums are binary64 sums in tree order, made on the host.
    pub fn raw_f64(&self, device: &Device, x: &[f32], rows: usize) -> Result<Vec<f64>> {
        self.on(device)?.raw_f64(x, rows)
    }

    /// The leaf of each row in each tree, shape (rows, trees): its number in the tree's [`crate::Tree::values`].
    ///
    /// # Errors
    /// [`DataError::Shape`] and [`ml_core::DeviceError`].
    ///
    /// # Bit identity
    /// Comparisons only: the same on every device.
    pub fn leaves(&self, device: &Device, x: &[f32], rows: usize) -> Result<Vec<u32>> {
        self.on(device)?.leaves(x, rows)
    }

    fn fits(&self, x: &[f32], rows: usize) -> Result<()> {
        if rows.checked_mul(self.features()) != Some(x.len()) {
            return Err(DataError::shape("x", format!("{rows} x {} elements", self.features()), x.len()).into());
        }
        Ok(())
    }

    /// The rows as nodes see them: canonical, column by column through its view. Shape (rows, [`Ensemble::asked`]).
    ///
    /// # Errors
    /// [`DataError::Shape`].
    pub fn seen(&self, x: &[f32], rows: usize) -> Result<Vec<f32>> {
        self.fits(x, rows)?;
        if self.inputs().is_empty() {
            return Ok(x.iter().map(|x| canon(*x)).collect());
        }
        let mut seen = Vec::with_capacity(rows.saturating_mul(self.asked()));
        for row in 0..rows {
            let row = &x[row * self.features()..(row + 1) * self.features()];
            seen.extend(self.inputs().iter().map(|input| input.view.of(canon(row[input.column as usize]))));
        }
        Ok(seen)
    }

    /// Values of leaves to scores in binary32.
    fn single(&self, leaves: &[u32], rows: usize) -> Vec<f32> {
        let p = num::Pins::HOST;
        let fold = Fold {
            start: 0.0f32,
            narrow: |v: f64| canon(v as f32),
            add: |a: f32, b: f32| num::add(a, b, p),
            scale: |s: f32, by: f64| num::mul(s, canon(by as f32), p),
            divide: |s: f32, by: f64| canon(num::div(s, canon(by as f32))),
        };
        self.fold(leaves, rows, &fold)
    }

    /// Values of leaves to scores in binary64.
    fn double(&self, leaves: &[u32], rows: usize) -> Vec<f64> {
        let fold = Fold {
            start: 0.0f64,
            narrow: |v: f64| v,
            add: |a: f64, b: f64| a + b,
            scale: |s: f64, by: f64| s * by,
            divide: |s: f64, by: f64| s / by,
        };
        self.fold(leaves, rows, &fold)
    }

    fn fold<T: Copy + PartialOrd>(
        &self,
        leaves: &[u32],
        rows: usize,
        f: &Fold<T, impl Fn(f64) -> T, impl Fn(T, T) -> T, impl Fn(T, f64) -> T, impl Fn(T, f64) -> T>,
    ) -> Vec<T> {
        let base: Vec<T> = self.base().iter().map(|b| (f.narrow)(*b)).collect();
        let (outputs, trees) = (base.len(), self.trees().len());
        let mut scores = Vec::with_capacity(rows.saturating_mul(outputs));
        let mut given = vec![false; outputs];
        for row in 0..rows {
            let at = scores.len();
            match self.aggregate() {
                Aggregate::Sum => scores.extend_from_slice(&base),
                _ => scores.extend(std::iter::repeat_n(f.start, outputs)),
            }
            let score: &mut [T] = &mut scores[at..];
            given.fill(false);
            for (t, leaf) in leaves[row * trees..(row + 1) * trees].iter().enumerate() {
                let wide = self.trees()[t].outputs();
                let first = self.first_output()[t] as usize;
                let value = &self.trees()[t].values()[*leaf as usize * wide..][..wide];
                for (o, v) in value.iter().enumerate() {
                    let (s, v) = (&mut score[first + o], &(f.narrow)(*v));
                    *s = match self.aggregate() {
                        Aggregate::Min if given[first + o] => {
                            if v < s {
                                *v
                            } else {
                                *s
                            }
                        }
                        Aggregate::Max if given[first + o] => {
                            if v > s {
                                *v
                            } else {
                                *s
                            }
                        }
                        Aggregate::Min | Aggregate::Max => *v,
                        _ => (f.add)(*s, *v),
                    };
                    given[first + o] = true;
                }
            }
            for (s, b) in score.iter_mut().zip(&base) {
                *s = match self.aggregate() {
                    Aggregate::Sum => *s,
                    Aggregate::Scaled { scale: 1.0 } | Aggregate::Min | Aggregate::Max => (f.add)(*s, *b),
                    Aggregate::Scaled { scale } => (f.add)((f.scale)(*s, scale), *b),
                    Aggregate::Mean { divisor } => (f.add)((f.divide)(*s, divisor), *b),
                };
            }
        }
        scores
    }
}

/// One arithmetic of the sums.
struct Fold<T, N, A, S, D> {
    start: T,
    narrow: N,
    add: A,
    scale: S,
    divide: D,
}

/// The leaf that a row, as nodes see it, comes to: what every faster walk is compared with.
#[cfg(test)]
fn walk(tree: &Tree, row: &[f32]) -> u32 {
    let mut at = 0usize;
    loop {
        let (left, right, goes_left) = match &tree.nodes()[at] {
            Node::Leaf { leaf, .. } => return *leaf,
            Node::Number { feature, threshold, left, right, missing_left, .. } => {
                let x = row[*feature as usize];
                (left, right, if x.is_nan() { *missing_left } else { x <= *threshold })
            }
            Node::Category { feature, set, left, right, missing_left, .. } => {
                let x = row[*feature as usize];
                let category = x >= 0.0 && x.is_finite() && x.trunc() == x;
                // A cast saturates: what is beyond every set stays beyond.
                let held = set.get(x as usize / 32).is_some_and(|word| word >> (x as usize % 32) & 1 == 1);
                (left, right, if category { held } else { *missing_left })
            }
        };
        at = if goes_left { *left } else { *right } as usize;
    }
}

/// A node as the waist walks it.
pub(crate) fn flat_node(node: &Node) -> FlatNode {
    match node {
        Node::Leaf { leaf, .. } => FlatNode::Leaf { leaf: *leaf },
        Node::Number { feature, threshold, left, right, missing_left, .. } => FlatNode::Number {
            feature: *feature,
            bound: *threshold,
            left: *left,
            right: *right,
            missing_left: *missing_left,
        },
        Node::Category { feature, set, left, right, missing_left, .. } => FlatNode::Category {
            feature: *feature,
            set: set.clone(),
            left: *left,
            right: *right,
            missing_left: *missing_left,
        },
    }
}

#[cfg(test)]
mod tests;
