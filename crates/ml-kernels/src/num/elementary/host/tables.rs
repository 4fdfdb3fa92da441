//! Constants of the elementary functions in f64, derived and checked by `tests/elementary_constants.rs`:
//! generated, do not edit.

/// atan(i/8), up to i = 8.
pub(super) const ATAN_ANGLE: [f64; 16] = [
    f64::from_bits(0x0000_0000_0000_0000),
    f64::from_bits(0x3fbf_d5ba_9aac_2f6e),
    f64::from_bits(0x3fcf_5b75_f92c_80dd),
    f64::from_bits(0x3fd6_f619_41e4_def1),
    f64::from_bits(0x3fdd_ac67_0561_bb4f),
    f64::from_bits(0x3fe1_e00b_abde_feb4),
    f64::from_bits(0x3fe4_978f_a326_9ee1),
    f64::from_bits(0x3fe7_00a7_c578_4634),
    f64::from_bits(0x3fe9_21fb_5444_2d18),
    f64::from_bits(0x0000_0000_0000_0000),
    f64::from_bits(0x0000_0000_0000_0000),
    f64::from_bits(0x0000_0000_0000_0000),
    f64::from_bits(0x0000_0000_0000_0000),
    f64::from_bits(0x0000_0000_0000_0000),
    f64::from_bits(0x0000_0000_0000_0000),
    f64::from_bits(0x0000_0000_0000_0000),
];

/// pi/2.
pub(super) const HALF_PI: f64 = f64::from_bits(0x3ff9_21fb_5444_2d18);

/// pi/2 to 33 bits.
pub(super) const HALF_PI_HEAD: f64 = f64::from_bits(0x3ff9_21fb_5440_0000);

/// The next 33 bits.
pub(super) const HALF_PI_MIDDLE: f64 = f64::from_bits(0x3dd0_b461_1a60_0000);

/// pi/2 less both.
pub(super) const HALF_PI_TAIL: f64 = f64::from_bits(0x3ba3_198a_2e03_7073);

/// 2/pi.
pub(super) const TWO_PI: f64 = f64::from_bits(0x3fe4_5f30_6dc9_c883);

/// log10(e).
pub(super) const LOG10_E: f64 = f64::from_bits(0x3fdb_cb7b_1526_e50e);

/// ln(2 pi)/2.
pub(super) const HALF_LN_TWO_PI: f64 = f64::from_bits(0x3fed_67f1_c864_beb5);

/// erf(x)/(2 x) in x^2 up to 1.
pub(super) const ERF_POLY: [f64; 14] = [
    f64::from_bits(0x3fe2_0dd7_5042_9b6d),
    f64::from_bits(0xbfc8_1274_6b03_79e7),
    f64::from_bits(0x3fac_e2f2_1a04_2bde),
    f64::from_bits(0xbf8b_82ce_3128_89ba),
    f64::from_bits(0x3f65_65bc_d0e6_502d),
    f64::from_bits(0xbf3c_02db_3fee_b579),
    f64::from_bits(0x3f0f_9a32_6c23_3146),
    f64::from_bits(0xbedf_4d25_61ae_afd4),
    f64::from_bits(0x3eab_9e65_09b9_867d),
    f64::from_bits(0xbe75_f6d9_25a0_bc7a),
    f64::from_bits(0x3e3f_c435_6498_c2d9),
    f64::from_bits(0xbe04_e607_b41a_6416),
    f64::from_bits(0x3dc7_f072_188e_194d),
    f64::from_bits(0xbd82_9b9f_1b3d_f556),
];

/// 1/half of erfc.
pub(super) const ERFC_STEEP: f64 = f64::from_bits(0x402f_6da5_7ab6_b454);

/// middle/half of erfc.
pub(super) const ERFC_SHIFT: f64 = f64::from_bits(0x4001_3e5d_d8cc_5328);

/// e^(x^2) erfc(x) (x + 4)/8 in s.
pub(super) const ERFC_POLY: [f64; 21] = [
    f64::from_bits(0x3fc3_2eb0_1162_a27d),
    f64::from_bits(0x3fb2_a1f5_6a3a_ca92),
    f64::from_bits(0x3f9f_9220_8ee0_f6c7),
    f64::from_bits(0x3f87_3a2f_273d_0f14),
    f64::from_bits(0x3f6d_63f4_9d82_b71b),
    f64::from_bits(0x3f4f_66d0_d310_e865),
    f64::from_bits(0x3f2b_60c3_6f06_c892),
    f64::from_bits(0x3f02_1ae9_542e_543c),
    f64::from_bits(0x3ecd_09d3_6b34_6f31),
    f64::from_bits(0xbe73_8a9d_fc20_7ebb),
    f64::from_bits(0xbe79_2a0d_db1a_078e),
    f64::from_bits(0xbe4a_7d8a_208b_d043),
    f64::from_bits(0x3e0e_a747_db80_b117),
    f64::from_bits(0x3dff_0e51_536d_3578),
    f64::from_bits(0x3db2_b7d8_8eb8_6028),
    f64::from_bits(0xbdac_14a4_de61_6ce6),
    f64::from_bits(0xbd78_8772_d52d_62ce),
    f64::from_bits(0x3d59_25a5_6e93_334a),
    f64::from_bits(0x3d31_6b38_d0a3_aae6),
    f64::from_bits(0xbd05_7209_e1bf_e944),
    f64::from_bits(0xbce2_8b29_6a23_18be),
];
