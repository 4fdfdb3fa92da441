//! Integers of 128 bits in four `u32` words, and polynomials in fixed point on them.
//!
//! "Q.128" is a fraction held as an integer times 2^-128, and so on. All arithmetic wraps; signed use is two's complement.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use crate::num::limbs::{carry, shl_pair, shr_pair};
use crate::num::raw::*;

/// A 128-bit integer or fraction; `w3` is the highest word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "gpu", derive(CubeType, CubeTypeMut))]
pub(crate) struct Wide {
    pub w3: u32,
    pub w2: u32,
    pub w1: u32,
    pub w0: u32,
}

/// A word and how often its sum overflowed.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
struct Column {
    word: u32,
    carries: u32,
}

/// `c + x`, an overflow counted.
#[cfg_attr(feature = "gpu", cube)]
fn pile(c: Column, x: u32) -> Column {
    let word = add_wrap(c.word, x);
    Column { word, carries: add_wrap(c.carries, carry(word, x)) }
}

/// The bits of `condition` in every place of a word.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn mask(condition: bool) -> u32 {
    select_u32(condition, 0xffff_ffffu32, 0u32)
}

/// `yes` where `condition` holds, else `no`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn select128(condition: bool, yes: Wide, no: Wide) -> Wide {
    Wide {
        w3: select_u32(condition, yes.w3, no.w3),
        w2: select_u32(condition, yes.w2, no.w2),
        w1: select_u32(condition, yes.w1, no.w1),
        w0: select_u32(condition, yes.w0, no.w0),
    }
}

/// `a + b` modulo 2^128.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn add128(a: Wide, b: Wide) -> Wide {
    let w0 = add_wrap(a.w0, b.w0);
    let c1 = pile(Column { word: carry(w0, b.w0), carries: 0u32 }, a.w1);
    let s1 = pile(c1, b.w1);
    let s2 = pile(pile(Column { word: s1.carries, carries: 0u32 }, a.w2), b.w2);
    let w3 = add_wrap(add_wrap(a.w3, b.w3), s2.carries);
    Wide { w3, w2: s2.word, w1: s1.word, w0 }
}

/// `-a` where `negate`, else `a`: all bits flipped, plus one.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn neg128_if(negate: bool, a: Wide) -> Wide {
    let flip = mask(negate);
    let flipped = Wide { w3: a.w3 ^ flip, w2: a.w2 ^ flip, w1: a.w1 ^ flip, w0: a.w0 ^ flip };
    add128(flipped, Wide { w3: 0u32, w2: 0u32, w1: 0u32, w0: flip & 1u32 })
}

/// True if `a < b` as unsigned integers.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn less128(a: Wide, b: Wide) -> bool {
    let low = a.w1 < b.w1 || (a.w1 == b.w1 && a.w0 < b.w0);
    let middle = a.w2 < b.w2 || (a.w2 == b.w2 && low);
    a.w3 < b.w3 || (a.w3 == b.w3 && middle)
}

/// `a >> s` for `s` in 0..=31.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn shr128_bits(a: Wide, s: u32) -> Wide {
    Wide { w3: a.w3 >> s, w2: shr_pair(a.w3, a.w2, s), w1: shr_pair(a.w2, a.w1, s), w0: shr_pair(a.w1, a.w0, s) }
}

/// `a << s` for `s` in 0..=31.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn shl128_bits(a: Wide, s: u32) -> Wide {
    Wide { w3: shl_pair(a.w3, a.w2, s), w2: shl_pair(a.w2, a.w1, s), w1: shl_pair(a.w1, a.w0, s), w0: a.w0 << s }
}

/// `a >> s`; 0 from `s` = 128 on.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn shr128(a: Wide, s: u32) -> Wide {
    let two = (s & 64u32) != 0u32;
    let b = Wide {
        w3: select_u32(two, 0u32, a.w3),
        w2: select_u32(two, 0u32, a.w2),
        w1: select_u32(two, a.w3, a.w1),
        w0: select_u32(two, a.w2, a.w0),
    };
    let one = (s & 32u32) != 0u32;
    let c = Wide {
        w3: select_u32(one, 0u32, b.w3),
        w2: select_u32(one, b.w3, b.w2),
        w1: select_u32(one, b.w2, b.w1),
        w0: select_u32(one, b.w1, b.w0),
    };
    let d = shr128_bits(c, s & 31u32);
    select128(s >= 128u32, Wide { w3: 0u32, w2: 0u32, w1: 0u32, w0: 0u32 }, d)
}

/// `a << s` for `s` in 0..=127.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn shl128(a: Wide, s: u32) -> Wide {
    let two = (s & 64u32) != 0u32;
    let b = Wide {
        w3: select_u32(two, a.w1, a.w3),
        w2: select_u32(two, a.w0, a.w2),
        w1: select_u32(two, 0u32, a.w1),
        w0: select_u32(two, 0u32, a.w0),
    };
    let one = (s & 32u32) != 0u32;
    let c = Wide {
        w3: select_u32(one, b.w2, b.w3),
        w2: select_u32(one, b.w1, b.w2),
        w1: select_u32(one, b.w0, b.w1),
        w0: select_u32(one, 0u32, b.w0),
    };
    shl128_bits(c, s & 31u32)
}

/// Number of leading zero bits; 128 for zero.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn clz128(a: Wide) -> u32 {
    let c2 = select_u32(a.w1 != 0u32, 64u32 + clz(a.w1), 96u32 + clz(a.w0));
    select_u32(a.w3 != 0u32, clz(a.w3), select_u32(a.w2 != 0u32, 32u32 + clz(a.w2), c2))
}

/// The top 64 bits of the product of two 64-bit fractions, short by at most 3 units.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn mul_top2(a: Wide, b: Wide) -> Wide {
    let low = Column { word: mul_lo(a.w3, b.w3), carries: 0u32 };
    let s2 = pile(pile(low, mul_hi(a.w3, b.w2)), mul_hi(a.w2, b.w3));
    Wide { w3: add_wrap(mul_hi(a.w3, b.w3), s2.carries), w2: s2.word, w1: 0u32, w0: 0u32 }
}

/// The top 96 bits of the product of two 96-bit fractions, short by at most 5 units.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn mul_top3(a: Wide, b: Wide) -> Wide {
    let c1 = Column { word: mul_lo(a.w3, b.w2), carries: 0u32 };
    let d1 = pile(pile(c1, mul_lo(a.w2, b.w3)), mul_hi(a.w3, b.w1));
    let s1 = pile(pile(d1, mul_hi(a.w2, b.w2)), mul_hi(a.w1, b.w3));
    let c2 = pile(Column { word: s1.carries, carries: 0u32 }, mul_lo(a.w3, b.w3));
    let s2 = pile(pile(c2, mul_hi(a.w3, b.w2)), mul_hi(a.w2, b.w3));
    Wide { w3: add_wrap(mul_hi(a.w3, b.w3), s2.carries), w2: s2.word, w1: s1.word, w0: 0u32 }
}

/// The top 128 bits of the product of two 128-bit fractions, short by at most 7 units.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn mul_top4(a: Wide, b: Wide) -> Wide {
    let c0 = Column { word: mul_lo(a.w3, b.w1), carries: 0u32 };
    let d0 = pile(pile(c0, mul_lo(a.w2, b.w2)), mul_lo(a.w1, b.w3));
    let e0 = pile(pile(d0, mul_hi(a.w3, b.w0)), mul_hi(a.w2, b.w1));
    let s0 = pile(pile(e0, mul_hi(a.w1, b.w2)), mul_hi(a.w0, b.w3));
    let c1 = pile(Column { word: s0.carries, carries: 0u32 }, mul_lo(a.w3, b.w2));
    let d1 = pile(pile(c1, mul_lo(a.w2, b.w3)), mul_hi(a.w3, b.w1));
    let s1 = pile(pile(d1, mul_hi(a.w2, b.w2)), mul_hi(a.w1, b.w3));
    let c2 = pile(Column { word: s1.carries, carries: 0u32 }, mul_lo(a.w3, b.w3));
    let s2 = pile(pile(c2, mul_hi(a.w3, b.w2)), mul_hi(a.w2, b.w3));
    Wide { w3: add_wrap(mul_hi(a.w3, b.w3), s2.carries), w2: s2.word, w1: s1.word, w0: s0.word }
}

/// One step of a polynomial in fixed point: a coefficient, how many of its words count, and how far the product with the
/// step before is shifted down.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// Words that count, from the highest: 1..=4.
    pub words: u32,
    /// 0..=31.
    pub shift: u32,
    /// Highest word first.
    pub c: [u32; 4],
}

/// `c + (acc g >> shift)`, or `c` less that where `flip` is all ones (short by a unit), in one word.
#[cfg_attr(feature = "gpu", cube)]
fn step1(acc: Wide, g: Wide, c: Wide, shift: u32, flip: u32) -> Wide {
    let w3 = add_wrap(c.w3, (mul_hi(acc.w3, g.w3) >> shift) ^ flip);
    Wide { w3, w2: 0u32, w1: 0u32, w0: 0u32 }
}

/// The same in two words.
#[cfg_attr(feature = "gpu", cube)]
fn step2(acc: Wide, g: Wide, c: Wide, shift: u32, flip: u32) -> Wide {
    let p = mul_top2(acc, g);
    let p2 = shr_pair(p.w3, p.w2, shift) ^ flip;
    let w2 = add_wrap(c.w2, p2);
    Wide { w3: add_wrap(add_wrap(c.w3, (p.w3 >> shift) ^ flip), carry(w2, p2)), w2, w1: 0u32, w0: 0u32 }
}

/// The same in three words.
#[cfg_attr(feature = "gpu", cube)]
fn step3(acc: Wide, g: Wide, c: Wide, shift: u32, flip: u32) -> Wide {
    let p = shr128_bits(mul_top3(acc, g), shift);
    add128(c, Wide { w3: p.w3 ^ flip, w2: p.w2 ^ flip, w1: p.w1 ^ flip, w0: 0u32 })
}

/// The same in four words.
#[cfg_attr(feature = "gpu", cube)]
fn step4(acc: Wide, g: Wide, c: Wide, shift: u32, flip: u32) -> Wide {
    let p = shr128_bits(mul_top4(acc, g), shift);
    add128(c, Wide { w3: p.w3 ^ flip, w2: p.w2 ^ flip, w1: p.w1 ^ flip, w0: p.w0 ^ flip })
}

/// An intermediate result made positive, and what that does to the sign of the next product.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
struct Unsigned {
    acc: Wide,
    flip: u32,
}

/// `acc` and `flip` for a product of magnitudes (off by a unit where `acc` is negative).
#[cfg_attr(feature = "gpu", cube)]
fn unsigned(acc: Wide, flip: u32) -> Unsigned {
    let m = mask(acc.w3 >= 0x8000_0000u32);
    let flipped = Wide { w3: acc.w3 ^ m, w2: acc.w2 ^ m, w1: acc.w1 ^ m, w0: acc.w0 ^ m };
    Unsigned { acc: flipped, flip: flip ^ m }
}

/// The polynomial with the given steps, the highest degree first, at `g` (`flip` = 0) or `-g` (`flip` = all ones).
///
/// `signed`: coefficients of any sign, in two's complement, the result too. If not, they are magnitudes, and so is every
/// intermediate result: all coefficients are positive, or they alternate and the caller's `flip` says so.
pub(super) fn horner(g: Wide, flip: u32, signed: bool, steps: &[Step]) -> Wide {
    let mut acc = Wide { w3: 0, w2: 0, w1: 0, w0: 0 };
    for (i, s) in steps.iter().enumerate() {
        let c = Wide { w3: s.c[0], w2: s.c[1], w1: s.c[2], w0: s.c[3] };
        let a = if signed { unsigned(acc, flip) } else { Unsigned { acc, flip } };
        acc = match (i, s.words) {
            (0, _) => c,
            (_, 1) => step1(a.acc, g, c, s.shift, a.flip),
            (_, 2) => step2(a.acc, g, c, s.shift, a.flip),
            (_, 3) => step3(a.acc, g, c, s.shift, a.flip),
            _ => step4(a.acc, g, c, s.shift, a.flip),
        };
    }
    acc
}

/// [`horner`] in a kernel.
#[cfg(feature = "gpu")]
pub(super) fn horner_expand(scope: &mut Scope, g: X<Wide>, flip: X<u32>, signed: bool, steps: &[Step]) -> X<Wide> {
    let mut acc: Option<X<Wide>> = None;
    for s in steps {
        let c = WideExpand {
            w3: X::<u32>::from_lit(scope, s.c[0]),
            w2: X::<u32>::from_lit(scope, s.c[1]),
            w1: X::<u32>::from_lit(scope, s.c[2]),
            w0: X::<u32>::from_lit(scope, s.c[3]),
        };
        let shift = X::<u32>::from_lit(scope, s.shift);
        acc = Some(match acc {
            None => c,
            Some(acc) => {
                let g = g.clone();
                let a = match signed {
                    true => unsigned::expand(scope, acc, flip.clone()),
                    false => UnsignedExpand { acc, flip: flip.clone() },
                };
                match s.words {
                    1 => step1::expand(scope, a.acc, g, c, shift, a.flip),
                    2 => step2::expand(scope, a.acc, g, c, shift, a.flip),
                    3 => step3::expand(scope, a.acc, g, c, shift, a.flip),
                    _ => step4::expand(scope, a.acc, g, c, shift, a.flip),
                }
            }
        });
    }
    acc.expect("a polynomial has a coefficient")
}

/// A polynomial with constant coefficients; see [`horner`].
macro_rules! polynomial {
    ($(#[$doc:meta])* $vis:vis fn $name:ident(g, flip) = $table:expr) => {
        polynomial! { $(#[$doc])* $vis fn $name(g, flip) = $table, signed: false }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident(g, flip) = $table:expr, signed: $signed:expr) => {
        twin! {
            $(#[$doc])*
            $vis fn $name(g: Wide, flip: u32) -> Wide,
            host: horner(g, flip, $signed, &$table),
            gpu(scope): horner_expand(scope, g, flip, $signed, &$table)
        }
    };
}
pub(super) use polynomial;

/// A table of 2^k entries of four words, the highest first.
macro_rules! wide_table {
    ($(#[$doc:meta])* $vis:vis fn $name:ident(index) = $table:expr) => {
        twin! {
            $(#[$doc])*
            $vis fn $name(index: u32) -> Wide,
            host: {
                const TABLE: [[u32; 4]; $table.len()] = $table;
                const { assert!(TABLE.len().is_power_of_two()) }
                let w = TABLE[index as usize & (TABLE.len() - 1)];
                Wide { w3: w[0], w2: w[1], w1: w[2], w0: w[3] }
            },
            gpu(scope): {
                let mut word = |i: usize| {
                    let column: Vec<u32> = $table.iter().map(|w| w[i]).collect();
                    $crate::num::raw::select_tree(scope, index.clone(), &column)
                };
                WideExpand { w3: word(0), w2: word(1), w1: word(2), w0: word(3) }
            }
        }
    };
}
pub(super) use wide_table;

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(x: u128) -> Wide {
        Wide { w3: (x >> 96) as u32, w2: (x >> 64) as u32, w1: (x >> 32) as u32, w0: x as u32 }
    }

    fn number(x: Wide) -> u128 {
        [x.w2, x.w1, x.w0].iter().fold(u128::from(x.w3), |n, &w| (n << 32) | u128::from(w))
    }

    /// The top half of the 256-bit product.
    fn product_top(a: u128, b: u128) -> u128 {
        let low = u128::from(u64::MAX);
        let (a1, a0, b1, b0) = (a >> 64, a & low, b >> 64, b & low);
        let middle = a1 * b0 + ((a0 * b0) >> 64);
        let other = a0 * b1 + (middle & low);
        a1 * b1 + (middle >> 64) + (other >> 64)
    }

    fn numbers() -> Vec<u128> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ (state >> 29)
        };
        let mut list: Vec<u128> =
            (0..400u32).map(|i| ((u128::from(next()) << 64) | u128::from(next())) >> (i % 128)).collect();
        list.extend([0, 1, u128::MAX, 1 << 127, (1 << 64) - 1, 1 << 64, (1 << 96) - 1, 1 << 32]);
        list.extend((0..128).flat_map(|s| [u128::MAX >> s, u128::MAX << s]));
        list
    }

    #[test]
    fn wide_numbers_are_128_bit_integers() {
        let list = numbers();
        for (i, &a) in list.iter().enumerate() {
            let x = wide(a);
            assert_eq!(number(neg128_if(true, x)), a.wrapping_neg());
            assert_eq!(number(neg128_if(false, x)), a);
            assert_eq!(clz128(x), a.leading_zeros());
            for s in 0..128 {
                assert_eq!(number(shr128(x, s)), a >> s);
                assert_eq!(number(shl128(x, s)), a << s);
            }
            assert_eq!(number(shr128(x, 128)), 0);
            for &b in &list[i % 7..] {
                let y = wide(b);
                assert_eq!(number(add128(x, y)), a.wrapping_add(b));
                assert_eq!(less128(x, y), a < b);
                let exact = product_top(a, b);
                assert!(exact - number(mul_top4(x, y)) <= 7);
                let (top3, short3) = (!0u128 << 32, !((1u128 << 32) - 1));
                let exact = product_top(a & top3, b & top3) & short3;
                assert!((exact - number(mul_top3(x, y))) >> 32 <= 5);
                let exact = product_top(a & !0u128 << 64, b & !0u128 << 64) >> 64;
                assert!(exact - (number(mul_top2(x, y)) >> 64) <= 3);
            }
        }
    }
}
