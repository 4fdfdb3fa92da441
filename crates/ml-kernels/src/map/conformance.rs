//! Conformance cases of `map` and `to_f32`.

use ml_core::canon::canon;

use super::*;
use crate::conformance::{Case, bytes, limited, scramble};

/// Floats over the whole exponent range, or around one, canonical.
fn floats(n: usize, seed: u32, wide: bool) -> Vec<f32> {
    (0..n as u32)
        .map(|i| {
            let r = scramble(seed.wrapping_mul(0x9e37_79b9).wrapping_add(i));
            let exponent = if wide { 1 + (scramble(r) % 254) } else { 120 + (scramble(r) % 14) };
            canon(f32::from_bits((r & 0x807f_ffff) | (exponent << 23)))
        })
        .collect()
}

/// Floats up to 2^20, down to 2^-70 where `wide`: what is summed stays finite, since the bits of a computed NaN are the
/// processor's own and end the work wherever they are looked at.
fn finite(n: usize, seed: u32, wide: bool) -> Vec<f32> {
    let exponent = |r: u32| if wide { 57 + scramble(r) % 91 } else { 120 + scramble(r) % 14 };
    (0..n as u32)
        .map(|i| {
            let r = scramble(seed.wrapping_mul(0x9e37_79b9).wrapping_add(i));
            f32::from_bits((r & 0x807f_ffff) | (exponent(r) << 23))
        })
        .collect()
}

fn case(name: &str, expr: Expr, rows: usize, cols: usize, wide: bool, small_limits: bool) -> Case {
    let data =
        [floats(rows * cols, 1, wide), floats(cols, 2, wide), floats(rows, 3, wide), floats(rows * cols, 4, wide)];
    let scalars = vec![0.75f32, -3.0];
    let program = expr.compile().expect("conformance expressions are short");
    let (n_inputs, n_scalars) = (program.n_inputs, program.n_scalars);
    let name = format!("{name} {rows}x{cols}{}", if small_limits { " limited" } else { "" });
    let (d, s) = (data.clone(), scalars.clone());
    Case {
        op: "map",
        name,
        run: Box::new(move |device| {
            let device = limited(device, small_limits);
            let b = d.iter().map(|v| Buffer::upload(&device, v)).collect::<Result<Vec<_>>>()?;
            let operands = [Operand::Full(&b[0]), Operand::Row(&b[1]), Operand::Col(&b[2]), Operand::Full(&b[3])];
            let out = map(&device, &expr, &operands[..n_inputs], &s[..n_scalars], rows, cols)?;
            Ok(bytes(&out.read()?))
        }),
        reference: Box::new(move || {
            let inputs = [
                (Kind::Full, &data[0][..]),
                (Kind::Row, &data[1][..]),
                (Kind::Col, &data[2][..]),
                (Kind::Full, &data[3][..]),
            ];
            bytes(&reference::run(&program, &inputs[..n_inputs], &scalars[..n_scalars], rows, cols))
        }),
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let (x, r, c, y) = (Expr::input(0), Expr::input(1), Expr::input(2), Expr::input(3));
    let (s, t) = (Expr::scalar(0), Expr::scalar(1));
    let everything = ((x.clone() - r.clone()) / (c.clone().abs() + s.clone())).square() * y.clone()
        - x.clone().min(y.clone()).max(t.clone());
    let mut cases = Vec::new();
    for limits in [false, true] {
        cases.push(case("chain", everything.clone(), 37, 41, false, limits));
        cases.push(case("chain wide", everything.clone(), 61, 53, true, limits));
    }
    for (name, expr) in [
        ("add", x.clone() + r.clone()),
        ("sub", x.clone() - r.clone()),
        ("mul", x.clone() * r.clone()),
        ("div", x.clone() / r.clone()),
        ("sqrt", x.clone().abs().sqrt()),
        ("exp", x.clone().exp()),
        ("ln", x.clone().abs().ln()),
        ("tanh", x.clone().tanh()),
        ("sigmoid", x.clone().sigmoid()),
        ("pow", x.clone().abs().pow(r.clone())),
        ("neg", -x.clone()),
        ("select", x.clone().select_less(r.clone(), s * x.clone(), t - r.clone())),
        ("product then sum", x.clone() * r.clone() + x.clone()),
        ("two-sum", (x.clone() - ((x.clone() + r.clone()) - ((x.clone() + r.clone()) - x.clone()))) + r.clone()),
        ("magic round", (x.clone() + Expr::constant(12_582_912.0)) - Expr::constant(12_582_912.0)),
    ] {
        cases.push(case(name, expr.clone(), 64, 97, false, false));
        cases.push(case(&format!("{name} wide"), expr, 64, 97, true, false));
    }
    for (rows, cols) in [(0, 5), (1, 1), (1, 300), (300, 1)] {
        cases.push(case("shape", x.clone() * r.clone() - c.clone(), rows, cols, false, false));
    }
    // Rows of whole vectors, several workgroups side by side in a row, rows shorter than a workgroup.
    for (rows, cols) in [(300, 64), (9, 1028), (1030, 8), (3, 2052), (70, 12)] {
        for limits in [false, true] {
            cases.push(case("vectors", everything.clone(), rows, cols, false, limits));
        }
    }
    for limits in [false, true] {
        cases.push(case("row alone", (r.clone().exp() - x.clone()) / -r.clone(), 130, 76, false, limits));
        cases.push(case("flat", x.clone().square() - Expr::constant(0.5) * x.clone(), 37, 41, false, limits));
        cases.push(conversion(limits));
    }
    // Odd and even numbers of columns, few and many, rows around a chunk of sums, blocks of one row and of several.
    for (rows, cols) in [(1, 1), (1, 2), (40, 31), (1025, 3), (127, 33), (130, 300), (2049, 70), (3, 2050), (0, 3)] {
        cases.push(sums(&everything, rows, cols, false, false, true));
        // The same along rows, of few and many whole chunks, and of one that is none.
        cases.push(sums(&everything, cols, rows, false, false, false));
    }
    cases.push(sums(&everything, 2, 9 * 1024, false, false, false));
    cases.push(sums(&everything, 1, 18 * 1024 + 1, false, false, false));
    for down in [false, true] {
        cases.push(sums(&everything, 200, 9, true, false, down));
        cases.push(sums(&everything, 1100, 40, true, true, down));
    }
    cases.push(many("columns", x.clone() * r.clone() - c.clone(), 1400, 4004));
    cases.push(many("flat", x.clone() * x.clone() - x.clone(), 1, 5_500_003));
    cases
}

/// So many elements that a unit of any kernel computes several of them; made anew for each run.
fn many(name: &str, expr: Expr, rows: usize, cols: usize) -> Case {
    let program = expr.compile().expect("conformance expressions are short");
    let n_inputs = program.n_inputs;
    let data = move || [floats(rows * cols, 5, false), floats(cols, 6, false), floats(rows, 7, false)];
    Case {
        op: "map",
        name: format!("{name} {rows}x{cols}"),
        run: Box::new(move |device| {
            let b = data().iter().map(|v| Buffer::upload(device, v)).collect::<Result<Vec<_>>>()?;
            let operands = [Operand::Full(&b[0]), Operand::Row(&b[1]), Operand::Col(&b[2])];
            Ok(bytes(&map(device, &expr, &operands[..n_inputs], &[], rows, cols)?.read()?))
        }),
        reference: Box::new(move || {
            let data = data();
            let inputs = [(Kind::Full, &data[0][..]), (Kind::Row, &data[1][..]), (Kind::Col, &data[2][..])];
            bytes(&reference::run(&program, &inputs[..n_inputs], &[], rows, cols))
        }),
    }
}

/// Sums of the columns, or else the rows, of an expression, of one input as it is, and of a constant.
fn sums(expr: &Expr, rows: usize, cols: usize, wide: bool, small_limits: bool, down: bool) -> Case {
    let exprs = [expr.clone(), Expr::input(2), Expr::constant(0.1), Expr::input(0) * Expr::input(1)];
    let data =
        [finite(rows * cols, 5, wide), finite(cols, 6, wide), finite(rows, 7, wide), finite(rows * cols, 8, wide)];
    let scalars = [0.75f32, -3.0];
    let name =
        format!("{rows}x{cols}{}{}", if wide { " wide" } else { "" }, if small_limits { " limited" } else { "" });
    let (d, e) = (data.clone(), exprs.clone());
    Case {
        op: if down { "map_col_sums" } else { "map_row_sums" },
        name,
        run: Box::new(move |device| {
            let device = limited(device, small_limits);
            let b = d.iter().map(|v| Buffer::upload(&device, v)).collect::<Result<Vec<_>>>()?;
            let operands = [Operand::Full(&b[0]), Operand::Row(&b[1]), Operand::Col(&b[2]), Operand::Full(&b[3])];
            let sums = match down {
                true => col_sums(&device, &e, &operands, &scalars, rows, cols)?,
                false => row_sums(&device, &e, &operands, &scalars, rows, cols)?,
            };
            Ok(sums.iter().map(|s| Ok(bytes(&s.read()?))).collect::<Result<Vec<_>>>()?.concat())
        }),
        reference: Box::new(move || {
            let inputs = [
                (Kind::Full, &data[0][..]),
                (Kind::Row, &data[1][..]),
                (Kind::Col, &data[2][..]),
                (Kind::Full, &data[3][..]),
            ];
            let sums = exprs.iter().map(|expr| {
                let program = expr.compile().expect("conformance expressions are short");
                let (n_inputs, n_scalars) = (program.n_inputs, program.n_scalars);
                let x = reference::run(&program, &inputs[..n_inputs], &scalars[..n_scalars], rows, cols);
                bytes(&match down {
                    true => crate::reduce::reference_col_sums(&x, rows, cols),
                    false => crate::reduce::reference_row_sums(&x, rows, cols),
                })
            });
            sums.collect::<Vec<_>>().concat()
        }),
    }
}

fn conversion(small_limits: bool) -> Case {
    let x: Vec<u32> = (0..6000u32)
        .map(|i| scramble(i) >> (i % 32))
        .chain([0, 1, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, (1 << 25) + 2, (1 << 25) + 6, u32::MAX, u32::MAX - 128])
        .collect();
    let r = x.clone();
    Case {
        op: "to_f32",
        name: format!("u32{}", if small_limits { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small_limits);
            Ok(bytes(&to_f32(&device, &Buffer::upload(&device, &x)?)?.read()?))
        }),
        // The host processor's own conversion rounds to nearest even.
        reference: Box::new(move || bytes(&r.iter().map(|v| *v as f32).collect::<Vec<_>>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_finite() {
        for case in cases().iter().filter(|case| case.op.ends_with("_sums")) {
            let words = (case.reference)();
            let finite =
                |word: &[u8]| u32::from_le_bytes([word[0], word[1], word[2], word[3]]) & 0x7f80_0000 != 0x7f80_0000;
            assert!(words.chunks_exact(4).all(finite), "{}", case.name);
        }
    }
}
