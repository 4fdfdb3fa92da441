//! Constants of `exp` and `ln`, derived and checked by `tests/constants.rs`: generated, do not edit.

// pathway: P31

/// log2(e), Q.95, limb 2.
pub(super) const LOG2E_2: u32 = 0xb8aa_3b29;

/// log2(e), Q.95, limb 1.
pub(super) const LOG2E_1: u32 = 0x5c17_f0bb;

/// log2(e), Q.95, limb 0.
pub(super) const LOG2E_0: u32 = 0xbe87_fed0;

/// 2^(i/8), Q.63, high words.
pub(super) const EXP2_HI: [u32; 8] =
    [0x8000_0000, 0x8b95_c1e3, 0x9837_f051, 0xa5fe_d6a9, 0xb504_f333, 0xc567_2a11, 0xd744_fcca, 0xeac0_c6e7];

/// 2^(i/8), Q.63, low words.
pub(super) const EXP2_LO: [u32; 8] =
    [0x0000_0000, 0xea8b_d6e7, 0x8db8_a96f, 0xb151_38ea, 0xf9de_6484, 0x5506_dadd, 0xd69d_6af4, 0xdd24_392f];

/// Coefficient 1 of 2^f on [0, 1/8], Q.64, high word.
pub(super) const EXP_C1_HI: u32 = 0xb172_17f7;

/// Coefficient 1 of 2^f on [0, 1/8], Q.64, low word.
pub(super) const EXP_C1_LO: u32 = 0xd1cf_79a8;

/// Coefficient 2 of 2^f on [0, 1/8], Q.66, high word.
pub(super) const EXP_C2_HI: u32 = 0xf5fd_effc;

/// Coefficient 2 of 2^f on [0, 1/8], Q.66, low word.
pub(super) const EXP_C2_LO: u32 = 0x162c_add5;

/// Coefficient 3 of 2^f on [0, 1/8], Q.68, high word.
pub(super) const EXP_C3_HI: u32 = 0xe358_46b8;

/// Coefficient 3 of 2^f on [0, 1/8], Q.68, low word.
pub(super) const EXP_C3_LO: u32 = 0x2471_8b03;

/// Coefficient 4 of 2^f on [0, 1/8], Q.70, high word.
pub(super) const EXP_C4_HI: u32 = 0x9d95_5b7e;

/// Coefficient 4 of 2^f on [0, 1/8], Q.70, low word.
pub(super) const EXP_C4_LO: u32 = 0x66cb_aabd;

/// Coefficient 5 of 2^f on [0, 1/8], Q.73, high word.
pub(super) const EXP_C5_HI: u32 = 0xaec3_feaa;

/// Coefficient 5 of 2^f on [0, 1/8], Q.73, low word.
pub(super) const EXP_C5_LO: u32 = 0xcb22_9e3f;

/// Coefficient 6 of 2^f on [0, 1/8], Q.76, high word.
pub(super) const EXP_C6_HI: u32 = 0xa184_d6f5;

/// Coefficient 6 of 2^f on [0, 1/8], Q.76, low word.
pub(super) const EXP_C6_LO: u32 = 0x66f6_a8c4;

/// Coefficient 7 of 2^f on [0, 1/8], Q.47.
pub(super) const EXP_C7: u32 = 0x7fdc_2e59;

/// Coefficient 8 of 2^f on [0, 1/8], Q.51.
pub(super) const EXP_C8: u32 = 0xb859_28a7;

/// ln(2), Q.96, limb 2.
pub(super) const LN2_2: u32 = 0xb172_17f7;

/// ln(2), Q.96, limb 1.
pub(super) const LN2_1: u32 = 0xd1cf_79ab;

/// ln(2), Q.96, limb 0.
pub(super) const LN2_0: u32 = 0xc9e3_b398;

/// 256 c, the multiplier of interval i.
pub(super) const LN_C: [u32; 16] = [
    0x0000_0100,
    0x0000_00f1,
    0x0000_00e4,
    0x0000_00d8,
    0x0000_00cd,
    0x0000_00c3,
    0x0000_00ba,
    0x0000_0164,
    0x0000_0155,
    0x0000_0148,
    0x0000_013b,
    0x0000_012f,
    0x0000_0125,
    0x0000_011a,
    0x0000_0111,
    0x0000_0108,
];

/// Added to every binary exponent.
pub(super) const LN_BIAS: u32 = 0x0000_0098;

/// Integer part of -ln(c) - LN_BIAS ln(2), two's complement.
pub(super) const LN_OFFSET_3: u32 = 0xffff_ff96;

/// -ln(c) - LN_BIAS ln(2), Q.96, limb 2.
pub(super) const LN_OFFSET_2: [u32; 16] = [
    0xa441_c4db,
    0xb3b6_ddbb,
    0xc1e8_ec3e,
    0xcfc0_45b2,
    0xdd21_bc69,
    0xe9ef_380a,
    0xf607_fbe5,
    0x4fd7_0ebe,
    0x5adc_4497,
    0x64cf_9400,
    0x6f29_eae2,
    0x791b_5328,
    0x81b2_b9d2,
    0x8b7e_7f05,
    0x93cc_2ca5,
    0x9c61_1e17,
];

/// -ln(c) - LN_BIAS ln(2), Q.96, limb 1.
pub(super) const LN_OFFSET_1: [u32; 16] = [
    0x6ccf_c200,
    0x702b_ffd8,
    0xf116_6450,
    0x154b_25f7,
    0x4cee_a338,
    0x20bd_8f67,
    0x33e0_2e19,
    0xb4ef_0dd8,
    0xeef6_da43,
    0xb053_6ce5,
    0x5c71_907a,
    0x3c8e_b659,
    0x9e4a_692e,
    0x3b34_a10a,
    0xd3eb_50d0,
    0xcec3_01ec,
];

/// -ln(c) - LN_BIAS ln(2), Q.96, limb 0.
pub(super) const LN_OFFSET_0: [u32; 16] = [
    0x20cd_5dc0,
    0x56d4_3651,
    0x28b7_238d,
    0x25f3_37b9,
    0xf473_fb03,
    0x1c9f_e901,
    0x1c19_7285,
    0xfbd7_da81,
    0xfe7e_b9dd,
    0x7640_8551,
    0x51ab_a3f1,
    0x9558_07eb,
    0xdcc3_6bec,
    0x7419_335a,
    0x0582_f747,
    0xe28e_58ce,
];

/// About 1/2, Q.64, high word.
pub(super) const LN_A1_HI: u32 = 0x8000_0000;

/// About 1/2, Q.64, low word.
pub(super) const LN_A1_LO: u32 = 0x0000_0003;

/// About 1/3, Q.64, high word.
pub(super) const LN_A2_HI: u32 = 0x5555_5555;

/// About 1/3, Q.64, low word.
pub(super) const LN_A2_LO: u32 = 0x5555_5558;

/// About 1/4, Q.64, high word.
pub(super) const LN_A3_HI: u32 = 0x3fff_ffff;

/// About 1/4, Q.64, low word.
pub(super) const LN_A3_LO: u32 = 0xfffd_e98f;

/// About 1/5, Q.64, high word.
pub(super) const LN_A4_HI: u32 = 0x3333_3333;

/// About 1/5, Q.64, low word.
pub(super) const LN_A4_LO: u32 = 0x3331_45dc;

/// About 1/6, Q.64, high word.
pub(super) const LN_A5_HI: u32 = 0x2aaa_aaaa;

/// About 1/6, Q.64, low word.
pub(super) const LN_A5_LO: u32 = 0xed77_4eca;

/// About 1/7, Q.64, high word.
pub(super) const LN_A6_HI: u32 = 0x2492_4924;

/// About 1/7, Q.64, low word.
pub(super) const LN_A6_LO: u32 = 0xcff2_b2e7;

/// About 1/8, Q.32.
pub(super) const LN_A7: u32 = 0x1fff_fd14;

/// About 1/9, Q.32.
pub(super) const LN_A8: u32 = 0x1c71_c46a;

/// About 1/10, Q.32.
pub(super) const LN_A9: u32 = 0x19a6_f395;

/// About 1/11, Q.32.
pub(super) const LN_A10: u32 = 0x1752_2490;

/// log2(e).
pub(super) const F64_LOG2E: f64 = f64::from_bits(0x3ff7_1547_652b_82fe);

/// ln(2).
pub(super) const F64_LN2: f64 = f64::from_bits(0x3fe6_2e42_fefa_39ef);

/// ln(2) to 32 bits.
pub(super) const F64_LN2_HEAD: f64 = f64::from_bits(0x3fe6_2e42_ff00_0000);

/// ln(2) less its head.
pub(super) const F64_LN2_TAIL: f64 = f64::from_bits(0xbdc7_1843_2a1b_0e26);

/// -ln(c) of interval i.
pub(super) const F64_LN_OFFSET: [f64; 16] = [
    f64::from_bits(0x0000_0000_0000_0000),
    f64::from_bits(0x3fae_ea31_c006_b87c),
    f64::from_bits(0x3fbd_a727_6384_46a2),
    f64::from_bits(0x3fc5_bf40_6b54_3db2),
    f64::from_bits(0x3fcc_6ffb_c6f0_0f71),
    f64::from_bits(0x3fd1_6b5c_cbac_fb73),
    f64::from_bits(0x3fd4_718d_c271_c41b),
    f64::from_bits(0xbfd5_1aad_872d_f82d),
    f64::from_bits(0xbfd2_5960_10df_763a),
    f64::from_bits(0xbfcf_b918_6d5e_3e2b),
    f64::from_bits(0xbfca_8bec_fc88_2f19),
    f64::from_bits(0xbfc5_9338_d998_2086),
    f64::from_bits(0xbfc1_4785_8467_42ac),
    f64::from_bits(0xbfb8_c345_d631_9b21),
    f64::from_bits(0xbfb0_7598_3598_e471),
    f64::from_bits(0xbf9f_829b_0e78_3300),
];
