//! tmp
use ml_kernels::conformance::{Outcome, cases, test_devices};
#[test]
fn map_conforms() {
    let mut bad = 0;
    for d in test_devices() {
        let t = std::time::Instant::now();
        let mut n = 0;
        for c in cases().iter().filter(|c| c.op == "map" || c.op == "to_f32") {
            n += 1;
            match c.check(&d) {
                Outcome::Equal => {}
                o => { bad += 1; println!("{} {} {}: {o:?}", d.name(), c.op, c.name) }
            }
        }
        println!("{} {n} cases {:?}", d.name(), t.elapsed());
    }
    assert_eq!(bad, 0);
}
