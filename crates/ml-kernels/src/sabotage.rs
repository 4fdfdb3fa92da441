//! Negative controls: the ways in which a device can be made to break one clause of the contract on purpose.
//!
//! An arm proves that the certificate can see its clause: with the arm set, the stages must move, at the stage the clause
//! governs. Only the feature `sabotage` can set one; without it every device runs [`Arm::None`].

/// A clause broken on purpose. The name says what is done instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub enum Arm {
    /// Nothing is broken.
    #[default]
    None,
    /// Clause `values`: subnormals are stored as they come (`map`, sums, cumulative
    /// sums, contractions, scores of trees), and asked as they come (bins, walks through trees).
    KeepSubnormals,
    /// Clause `operations`: a product and a sum become one fused operation (contractions).
    FuseProducts,
    /// Clause `operations`: division through a reciprocal product (`map`).
    RoughDivision,
    /// Clause `operations`: square root off by one unit in the last place where the correction would act (`map`).
    RoughSqrt,
    /// Clause `operations`: integers above 2^24 convert by truncation (`map` conversions).
    TruncateConversion,
    /// Clause `flush`: the guard always chooses the loop without flushing (contractions).
    GuardOff,
    /// Clause `elementary`: elementary functions with the last bit of their result cleared (`map`).
    RoughElementary,
    /// Clause `contractions`: descending order inside a leaf (contractions, distances).
    DescendingLeaf,
    /// Clause `sums`: lanes joined serially instead of by the tree, runs carried on instead of begun anew (sums and what is
    /// made of them, cumulative sums).
    SerialLanes,
    /// Clause `scatter`: float additions in index order instead of integers (scatter-add, histograms of trees).
    FloatScatter,
    /// Clause `order`: ties go to the highest index (argmin, argmax, top-k, splits of trees).
    TiesLast,
    /// Clause `order`: equal keys leave a sort in descending order of index (sort).
    UnstableSort,
    /// Clause `random`: seven Philox rounds instead of ten (random fill, permutation).
    SevenRounds,
}

impl Arm {
    /// Every arm that breaks something.
    pub const ALL: [Arm; 13] = [
        Arm::KeepSubnormals,
        Arm::FuseProducts,
        Arm::RoughDivision,
        Arm::RoughSqrt,
        Arm::TruncateConversion,
        Arm::GuardOff,
        Arm::RoughElementary,
        Arm::DescendingLeaf,
        Arm::SerialLanes,
        Arm::FloatScatter,
        Arm::TiesLast,
        Arm::UnstableSort,
        Arm::SevenRounds,
    ];

    /// The contract clause that the arm breaks, as `docs/contract.md` names it.
    pub fn clause(self) -> &'static str {
        match self {
            Arm::None => "",
            Arm::KeepSubnormals => "values",
            Arm::FuseProducts | Arm::RoughDivision | Arm::RoughSqrt | Arm::TruncateConversion => "operations",
            Arm::GuardOff => "flush",
            Arm::RoughElementary => "elementary",
            Arm::DescendingLeaf => "contractions",
            Arm::SerialLanes => "sums",
            Arm::FloatScatter => "scatter",
            Arm::TiesLast | Arm::UnstableSort => "order",
            Arm::SevenRounds => "random",
        }
    }
}
