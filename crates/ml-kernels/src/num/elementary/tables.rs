//! Constants of the elementary functions in fixed point, derived and checked by
//! `tests/elementary_constants.rs`: generated, do not edit.

use super::wide::Step;

/// log2(e), Q.127, word 3.
pub(super) const LOG2_E_3: u32 = 0xb8aa_3b29;

/// log2(e), Q.127, word 2.
pub(super) const LOG2_E_2: u32 = 0x5c17_f0bb;

/// log2(e), Q.127, word 1.
pub(super) const LOG2_E_1: u32 = 0xbe87_fed0;

/// log2(e), Q.127, word 0.
pub(super) const LOG2_E_0: u32 = 0x691d_3e89;

/// ln(2), Q.128, word 3.
pub(super) const LN_2_3: u32 = 0xb172_17f7;

/// ln(2), Q.128, word 2.
pub(super) const LN_2_2: u32 = 0xd1cf_79ab;

/// ln(2), Q.128, word 1.
pub(super) const LN_2_1: u32 = 0xc9e3_b398;

/// ln(2), Q.128, word 0.
pub(super) const LN_2_0: u32 = 0x03f2_f6af;

/// log10(2), Q.129, word 3.
pub(super) const LOG10_2_3: u32 = 0x9a20_9a84;

/// log10(2), Q.129, word 2.
pub(super) const LOG10_2_2: u32 = 0xfbcf_f798;

/// log10(2), Q.129, word 1.
pub(super) const LOG10_2_1: u32 = 0x8f89_59ac;

/// log10(2), Q.129, word 0.
pub(super) const LOG10_2_0: u32 = 0x0b7c_9178;

/// 2^(i/16), Q.127.
pub(super) const EXP2_ROOT: [[u32; 4]; 16] = [
    [0x8000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000],
    [0x85aa_c367, 0xcc48_7b14, 0xc5c9_5b8c, 0x2154_c1b2],
    [0x8b95_c1e3, 0xea8b_d6e6, 0xfbe4_6287, 0x58a5_3c90],
    [0x91c3_d373, 0xab11_c336, 0x0fd6_d8e0, 0xae5a_c9d8],
    [0x9837_f051, 0x8db8_a96f, 0x46ad_2318, 0x2e42_f6f6],
    [0x9ef5_3260, 0x91a1_11ad, 0xa091_1f09, 0xebb9_fdd1],
    [0xa5fe_d6a9, 0xb151_38ea, 0x1cbd_7f62, 0x1710_701b],
    [0xad58_3eea, 0x42a1_4ac6, 0x4980_a8c8, 0xf59a_2ec4],
    [0xb504_f333, 0xf9de_6484, 0x597d_89b3, 0x754a_be9f],
    [0xbd08_a39f, 0x580c_36be, 0xa881_1fb6, 0x6d0f_af7a],
    [0xc567_2a11, 0x5506_dadd, 0x3e2a_d0c9, 0x64dd_9f37],
    [0xce24_8c15, 0x1f84_80e3, 0xe235_838f, 0x95f2_c6ed],
    [0xd744_fcca, 0xd69d_6af4, 0x39a6_8bb9, 0x902d_3fde],
    [0xe0cc_deec, 0x2a94_e111, 0x0658_9504, 0x8dd3_33ca],
    [0xeac0_c6e7, 0xdd24_392e, 0xd02d_75b3, 0x706e_54fb],
    [0xf525_7d15, 0x2486_cc2c, 0x7b9d_0c7a, 0xed98_0fc3],
];

/// (2^f - 1)/f in g = 16 f, for |f| up to 1/32.
pub(super) const EXP2_POLY: [Step; 13] = [
    Step { words: 1, shift: 0, c: [0xc0b1_253e, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 1, shift: 8, c: [0xe1df_2e8e, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 8, c: [0xf465_639a, 0x7131_598d, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 8, c: [0xf267_a8ac, 0x35b4_7142, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 8, c: [0xda92_9e9c, 0xaf3e_231f, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 8, c: [0xb160_111d, 0x2e41_25bd, 0x0000_0000, 0x0000_0000] },
    Step { words: 3, shift: 8, c: [0x7ff2_ff16, 0x22c3_1a1a, 0xc4f6_f5df, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0xa184_897c, 0x363c_3b7a, 0x577b_41b1, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0xaec3_ff3c, 0x5339_8883, 0x8bfb_4d33, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0x9d95_5b7d, 0xd273_b94e, 0x65df_05c5, 0x0000_0000] },
    Step { words: 4, shift: 6, c: [0xe358_46b8, 0x2505_fc59, 0x9d3b_15d9, 0x95e8_b810] },
    Step { words: 4, shift: 6, c: [0xf5fd_effc, 0x162c_7543, 0x78b5_8376, 0x4b97_1e25] },
    Step { words: 4, shift: 6, c: [0xb172_17f7, 0xd1cf_79ab, 0xc9e3_b398, 0x03f2_f6af] },
];

/// -log2(c) of interval i, two's complement, Q.119.
pub(super) const LOG2_OFFSET: [[u32; 4]; 16] = [
    [0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000],
    [0x000b_2671, 0x3603_38ab, 0x5a1f_2149, 0x2d49_c6d5],
    [0x0015_63dc, 0x29ff_acb2, 0x0c87_20de, 0x5377_caf3],
    [0x001f_5fd8, 0xa906_3e34, 0x908f_ef64, 0xf0f6_2e7b],
    [0x0029_06cb, 0xcd2b_af2d, 0x5453_03fb, 0x7776_98c1],
    [0x0032_4300, 0x1249_ba76, 0xfee2_357a, 0xb8cc_98ca],
    [0x003a_fcd8, 0x1578_6af1, 0x87a9_6b57, 0x3a7e_d69f],
    [0xffc3_1b2a, 0xbc31_565b, 0xe75c_c3da, 0x171d_d999],
    [0xffcb_0e3d, 0x7210_8217, 0x5afb_f4ad, 0x1ed7_720a],
    [0xffd2_3bbc, 0x64c5_e643, 0x50e5_5be9, 0x7611_f877],
    [0xffd9_b38d, 0x3929_af94, 0xca38_387e, 0x2554_21c7],
    [0xffe0_dfac, 0xc6df_70d8, 0xb88a_d598, 0xce73_15b0],
    [0xffe7_1235, 0x17ca_d494, 0x4a32_bde6, 0x6b66_4b21],
    [0xffee_232e, 0x68aa_d484, 0xa15b_abcf, 0x87c6_9ea9],
    [0xfff4_2088, 0xb4a3_aebf, 0x61df_28e6, 0xe55e_05ac],
    [0xfffa_514b, 0x229c_409e, 0x33b2_7e43, 0xda52_0fbe],
];

/// log2(1 + r)/(2 r) in g = 32 r, alternating.
pub(super) const LOG2_POLY: [Step; 19] = [
    Step { words: 1, shift: 0, c: [0x9c29_5dfa, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 1, shift: 5, c: [0xa4d5_664b, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 1, shift: 5, c: [0xadcd_110c, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0xb8a9_e329, 0x0ec7_cccb, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0xc4f9_d8cb, 0x93a6_4071, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0xd30b_b16b, 0xe979_3dde, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0xe347_ab46, 0x9501_0c4b, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0xf638_4ee1, 0xcc36_48b8, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 6, c: [0x864d_424c, 0xa011_981d, 0x0000_0000, 0x0000_0000] },
    Step { words: 3, shift: 5, c: [0x93bb_6287, 0x7ce0_24fb, 0x354e_800e, 0x0000_0000] },
    Step { words: 3, shift: 5, c: [0xa425_89eb, 0xe015_47c0, 0x9ffb_9155, 0x0000_0000] },
    Step { words: 3, shift: 5, c: [0xb8aa_3b29, 0x5c17_f0b8, 0xe7e5_99e0, 0x0000_0000] },
    Step { words: 3, shift: 5, c: [0xd30b_b153, 0xd6f6_c9fb, 0x22fa_31a1, 0x0000_0000] },
    Step { words: 3, shift: 5, c: [0xf638_4ee1, 0xd01f_eba4, 0xfe21_5e83, 0x0000_0000] },
    Step { words: 3, shift: 6, c: [0x93bb_6287, 0x7cdf_f3c9, 0x6539_987f, 0x0000_0000] },
    Step { words: 4, shift: 5, c: [0xb8aa_3b29, 0x5c17_f0bb, 0xbe87_fea7, 0x1ede_e53d] },
    Step { words: 4, shift: 5, c: [0xf638_4ee1, 0xd01f_eba4, 0xfe0a_a915, 0xe1a6_45c3] },
    Step { words: 4, shift: 6, c: [0xb8aa_3b29, 0x5c17_f0bb, 0xbe87_fed0, 0x6933_4415] },
    Step { words: 4, shift: 6, c: [0xb8aa_3b29, 0x5c17_f0bb, 0xbe87_fed0, 0x691d_3e89] },
];

/// pi/2, Q.127, word 3.
pub(super) const PI_2_3: u32 = 0xc90f_daa2;

/// pi/2, Q.127, word 2.
pub(super) const PI_2_2: u32 = 0x2168_c234;

/// pi/2, Q.127, word 1.
pub(super) const PI_2_1: u32 = 0xc4c6_628b;

/// pi/2, Q.127, word 0.
pub(super) const PI_2_0: u32 = 0x80dc_1cd1;

/// 2/pi, Q.128, word 3.
pub(super) const TWO_PI_3: u32 = 0xa2f9_836e;

/// 2/pi, Q.128, word 2.
pub(super) const TWO_PI_2: u32 = 0x4e44_1529;

/// 2/pi, Q.128, word 1.
pub(super) const TWO_PI_1: u32 = 0xfc27_57d1;

/// 2/pi, Q.128, word 0.
pub(super) const TWO_PI_0: u32 = 0xf534_ddc1;

/// 2/pi: its integer part, 0, and fifteen words of its fraction.
pub(super) const TWO_PI_WORDS: [u32; 16] = [
    0x0000_0000,
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
    0xdebb_c561,
    0xb724_6e3a,
    0x424d_d2e0,
    0x0649_2eea,
    0x09d1_921c,
    0xfe1d_eb1c,
    0xb129_a73e,
    0xe882_35f5,
];

/// sin(pi f/2)/(2 f) in f^2 up to 1/4, alternating.
pub(super) const SIN_POLY: [Step; 13] = [
    Step { words: 1, shift: 0, c: [0xc1b2_1ebd, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 1, shift: 8, c: [0xb90a_3043, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 8, c: [0x943b_80b1, 0x570d_2ef9, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 7, c: [0xc520_2108, 0xce9f_7561, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 7, c: [0xd576_1957, 0xc98a_044f, 0x0000_0000, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0xb7d6_dcf8, 0xaaba_1859, 0x6dd6_e367, 0x0000_0000] },
    Step { words: 3, shift: 6, c: [0xf47a_1a68, 0x0c6b_1992, 0xf914_5587, 0x0000_0000] },
    Step { words: 3, shift: 6, c: [0xf183_a7ef, 0x4438_fb11, 0xddec_5788, 0x0000_0000] },
    Step { words: 3, shift: 6, c: [0xa83c_1a43, 0xf73c_0dc8, 0x3d63_1691, 0x0000_0000] },
    Step { words: 4, shift: 5, c: [0x9969_6673, 0x15ec_2df3, 0x2f70_bfb0, 0x08b8_f6f9] },
    Step { words: 4, shift: 4, c: [0xa335_e33b, 0xad57_0e92, 0x3f34_224f, 0x036c_c539] },
    Step { words: 4, shift: 3, c: [0xa55d_e731, 0x2df2_95f5, 0x5dc7_2f71, 0x2af2_39c2] },
    Step { words: 4, shift: 1, c: [0xc90f_daa2, 0x2168_c234, 0xc4c6_628b, 0x80dc_1cd0] },
];

/// cos(pi f/2)/2 in f^2 up to 1/4, alternating.
pub(super) const COS_POLY: [Step; 13] = [
    Step { words: 1, shift: 0, c: [0xc095_af02, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 8, c: [0xa956_457d, 0xd1bc_18e0, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 7, c: [0xf7b7_178f, 0x7291_c61b, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 8, c: [0x9506_2c8d, 0x4aa6_470c, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 7, c: [0x9063_1617, 0x96ad_a2e6, 0x0000_0000, 0x0000_0000] },
    Step { words: 3, shift: 6, c: [0xdb71_27a2, 0x5894_706c, 0xfb0b_a839, 0x0000_0000] },
    Step { words: 3, shift: 6, c: [0xfce9_c51b, 0xb1e6_146b, 0xa8f4_a89b, 0x0000_0000] },
    Step { words: 3, shift: 6, c: [0xd368_f951, 0x0254_5d4d, 0x3d05_0ea8, 0x0000_0000] },
    Step { words: 3, shift: 5, c: [0xf0fa_8344, 0x8dd5_d7a3, 0x2742_a56d, 0x0000_0000] },
    Step { words: 4, shift: 5, c: [0xaae9_e3f1, 0xe5ff_cfe2, 0xa7d6_df63, 0x3d69_d3cd] },
    Step { words: 4, shift: 4, c: [0x81e0_f840, 0xdad6_1d9a, 0x9980_f007, 0xd5bc_4660] },
    Step { words: 4, shift: 2, c: [0x9de9_e64d, 0xf22e_f2d2, 0x56e2_6cd9, 0x808b_9f1f] },
    Step { words: 4, shift: 0, c: [0x7fff_ffff, 0xffff_ffff, 0xffff_ffff, 0xffff_ffe9] },
];

/// atan(i/8), up to i = 8, Q.128.
pub(super) const ATAN_ANGLE: [[u32; 4]; 16] = [
    [0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000],
    [0x1fd5_ba9a, 0xac2f_6dc6, 0x5912_f313, 0xe7d1_11df],
    [0x3eb6_ebf2, 0x5901_bac5, 0x5b71_e7bd, 0x7de8_85f9],
    [0x5bd8_6507, 0x937b_c239, 0xc551_9091, 0x6e7f_2242],
    [0x76b1_9c15, 0x86ed_3da2, 0xb7f2_22f6, 0x5e1d_4682],
    [0x8f00_5d5e, 0xf7f5_9f9b, 0x5c83_5e16, 0x65c4_3748],
    [0xa4bc_7d19, 0x34f7_0924, 0x19a8_7f2a, 0x457d_ac9f],
    [0xb805_3e2b, 0xc231_9e73, 0xcb2d_a552, 0x10a4_443d],
    [0xc90f_daa2, 0x2168_c234, 0xc4c6_628b, 0x80dc_1cd1],
    [0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000],
    [0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000],
    [0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000],
    [0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000],
    [0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000],
    [0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000],
    [0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000],
];

/// atan(z)/(2 z) in g = 128 z^2, alternating.
pub(super) const ATAN_POLY: [Step; 12] = [
    Step { words: 1, shift: 0, c: [0xae41_8514, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 1, shift: 7, c: [0xc302_132b, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 7, c: [0xd794_2685, 0x01e8_8772, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 7, c: [0xf0f0_f0e2, 0x1bf8_1dce, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 8, c: [0x8888_8888, 0x83ce_6df8, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 7, c: [0x9d89_d89d, 0x89d6_9ae6, 0x0000_0000, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0xba2e_8ba2, 0xe8ba_2dfb, 0x8c2a_127a, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0xe38e_38e3, 0x8e38_e38e, 0x1f50_710d, 0x0000_0000] },
    Step { words: 3, shift: 8, c: [0x9249_2492, 0x4924_9249, 0x2490_f255, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0xcccc_cccc, 0xcccc_cccc, 0xcccc_ccba, 0x0000_0000] },
    Step { words: 4, shift: 8, c: [0xaaaa_aaaa, 0xaaaa_aaaa, 0xaaaa_aaaa, 0xaa78_5e78] },
    Step { words: 4, shift: 9, c: [0x7fff_ffff, 0xffff_ffff, 0xffff_ffff, 0xffff_fff5] },
];

/// erf(x)/(2 x) in x^2 up to 1, alternating.
pub(super) const ERF_POLY: [Step; 22] = [
    Step { words: 2, shift: 0, c: [0xc10f_7393, 0x7db8_56d2, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0xc464_e63b, 0x94af_66c6, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0x8ac1_fca2, 0x2063_a539, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 4, c: [0xaf84_499a, 0xb930_9f67, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 4, c: [0xd0fa_a76e, 0xf260_e6cc, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 4, c: [0xeb85_2df1, 0x39c6_3eab, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0x7d5b_be8d, 0x748c_4af6, 0x0000_0000, 0x0000_0000] },
    Step { words: 3, shift: 4, c: [0x7da0_eb6b, 0xf536_5ddf, 0x0ca8_5dcd, 0x0000_0000] },
    Step { words: 3, shift: 3, c: [0xec22_9e55, 0x7f41_933d, 0x68cf_b40e, 0x0000_0000] },
    Step { words: 3, shift: 4, c: [0xcf35_6af2, 0x973e_3a3f, 0x5959_1c00, 0x0000_0000] },
    Step { words: 3, shift: 4, c: [0xa8eb_8c0e, 0x2e16_2361, 0x74d5_992e, 0x0000_0000] },
    Step { words: 3, shift: 4, c: [0x7f31_5c81, 0x892d_efb5, 0xbf10_3d88, 0x0000_0000] },
    Step { words: 3, shift: 3, c: [0xafba_1762, 0x1f38_bcbe, 0x509c_8537, 0x0000_0000] },
    Step { words: 3, shift: 3, c: [0xdcf3_64ee, 0x328d_1396, 0x8ddf_04df, 0x0000_0000] },
    Step { words: 3, shift: 4, c: [0x7d34_970f, 0x830b_ad78, 0xc0b7_015b, 0x0000_0000] },
    Step { words: 3, shift: 3, c: [0x7e68_c9be, 0x6e26_dde9, 0x9f25_d017, 0x0000_0000] },
    Step { words: 3, shift: 3, c: [0x700b_6d00, 0x102e_1626, 0x5b61_590d, 0x0000_0000] },
    Step { words: 4, shift: 2, c: [0xab2d_e687, 0x3529_f72c, 0x60fb_d0ec, 0x2ce3_4dba] },
    Step { words: 4, shift: 3, c: [0x6e0b_38c4, 0xa22d_4377, 0xf534_38ae, 0x40d2_497c] },
    Step { words: 4, shift: 2, c: [0x738b_c868, 0x10af_86d7, 0x8e43_a1ff, 0x7540_15ef] },
    Step { words: 4, shift: 2, c: [0x6049_d1ac, 0x0de7_9b08, 0xf68d_b1aa, 0x47f7_16d4] },
    Step { words: 4, shift: 1, c: [0x906e_ba82, 0x14db_688d, 0x71d4_8a7f, 0x6bfe_c232] },
];

/// 1/half of erfc, Q.124, word 3.
pub(super) const ERFC_STEEP_3: u32 = 0xfb6d_2bd5;

/// 1/half of erfc, Q.124, word 2.
pub(super) const ERFC_STEEP_2: u32 = 0xb5a2_a184;

/// 1/half of erfc, Q.124, word 1.
pub(super) const ERFC_STEEP_1: u32 = 0x24af_7793;

/// 1/half of erfc, Q.124, word 0.
pub(super) const ERFC_STEEP_0: u32 = 0xe0ef_7d23;

/// middle/half of erfc, Q.126, word 3.
pub(super) const ERFC_SHIFT_3: u32 = 0x89f2_eec6;

/// middle/half of erfc, Q.126, word 2.
pub(super) const ERFC_SHIFT_2: u32 = 0x6299_3f1b;

/// middle/half of erfc, Q.126, word 1.
pub(super) const ERFC_SHIFT_1: u32 = 0x79b8_d4d6;

/// middle/half of erfc, Q.126, word 0.
pub(super) const ERFC_SHIFT_0: u32 = 0x0844_c1ef;

/// e^(x^2) erfc(x) (x + 4)/8 in s, two's complement.
pub(super) const ERFC_POLY: [Step; 35] = [
    Step { words: 1, shift: 0, c: [0x8f3a_3c9d, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 1, shift: 3, c: [0x35e7_6769, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 1, shift: 2, c: [0x4880_2823, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 3, c: [0xc48e_9c8a, 0xa307_f64c, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 1, c: [0xd64d_4e7e, 0x8b48_2bb4, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 3, c: [0x5937_ef47, 0x4421_6bb1, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 1, c: [0xe9f3_080e, 0x8e6f_1088, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 3, c: [0x8b67_2324, 0xab04_09b5, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 2, c: [0x3a17_c90e, 0x91ec_d1d2, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 3, c: [0x4883_c039, 0x1f6b_79e9, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 2, c: [0xc1d3_60b5, 0x5677_1504, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 2, c: [0xa430_6025, 0x9f7b_22e9, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 3, c: [0x36f2_8bdf, 0x82a9_a7be, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 2, c: [0x3fc3_d5d1, 0xa180_ed88, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 2, c: [0xa595_f7e3, 0xbf50_adf5, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 3, c: [0xcbea_8f9f, 0x3f42_33ee, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 2, c: [0x46c6_eb16, 0x23db_b356, 0x0000_0000, 0x0000_0000] },
    Step { words: 3, shift: 2, c: [0x65d3_3dab, 0x8ae6_e39c, 0x8ced_9805, 0x0000_0000] },
    Step { words: 3, shift: 3, c: [0xcee6_3312, 0x87c1_ce5f, 0xf2dc_ab1a, 0x0000_0000] },
    Step { words: 3, shift: 3, c: [0xc7d0_9d85, 0x18b8_0bfd, 0xf726_ba7f, 0x0000_0000] },
    Step { words: 3, shift: 1, c: [0x2570_366a, 0x2ca9_9d1c, 0x7f74_7967, 0x0000_0000] },
    Step { words: 3, shift: 4, c: [0x3e1c_c7d5, 0xab24_d4fb, 0x4251_6a11, 0x0000_0000] },
    Step { words: 3, shift: 1, c: [0x3d4e_8db2, 0x9199_1580, 0x81fe_d8e1, 0x0000_0000] },
    Step { words: 3, shift: 3, c: [0x9609_d65e, 0x1d45_fadb, 0x4c92_a09c, 0x0000_0000] },
    Step { words: 3, shift: 3, c: [0x9b57_c896, 0x0c4a_30eb, 0xaf47_1e67, 0x0000_0000] },
    Step { words: 3, shift: 1, c: [0xd8ea_c40d, 0x3602_0a24, 0xd9a1_591b, 0x0000_0000] },
    Step { words: 3, shift: 4, c: [0x7427_4dac, 0xce24_2b6d, 0x627d_4d75, 0x0000_0000] },
    Step { words: 3, shift: 4, c: [0x486b_a550, 0xb850_eb53, 0x0193_0fe6, 0x0000_0000] },
    Step { words: 3, shift: 3, c: [0x36c1_86de, 0x0d91_de77, 0xa9a3_c6eb, 0x0000_0000] },
    Step { words: 4, shift: 2, c: [0x3ecd_a1a6, 0x21d1_97fa, 0x3e41_51d3, 0x2871_201e] },
    Step { words: 4, shift: 2, c: [0x3ac7_e93b, 0x056e_360a, 0x220e_368d, 0x82f1_5dfa] },
    Step { words: 4, shift: 2, c: [0x2e74_5e4e, 0x7a1e_2757, 0x57d5_2bdf, 0x7874_2e45] },
    Step { words: 4, shift: 1, c: [0x3f24_411d, 0xc1ed_8e46, 0xf517_6021, 0xc4a1_6b43] },
    Step { words: 4, shift: 1, c: [0x4a87_d5a8, 0xeb2a_46b5, 0x72df_86f2, 0xd596_7c60] },
    Step { words: 4, shift: 2, c: [0x265d_6022, 0xc544_fa8f, 0xeb3a_3964, 0xd540_d4f4] },
];

/// ln(2 pi)/2, Q.128, word 3.
pub(super) const HALF_LN_TWO_PI_3: u32 = 0xeb3f_8e43;

/// ln(2 pi)/2, Q.128, word 2.
pub(super) const HALF_LN_TWO_PI_2: u32 = 0x25f5_a534;

/// ln(2 pi)/2, Q.128, word 1.
pub(super) const HALF_LN_TWO_PI_1: u32 = 0x94bc_9001;

/// ln(2 pi)/2, Q.128, word 0.
pub(super) const HALF_LN_TWO_PI_0: u32 = 0x4419_2024;

/// (ln gamma(x) - (x - 1/2) ln x + x - ln(2 pi)/2) x in g = 128/x^2, alternating.
pub(super) const LGAMMA_POLY: [Step; 13] = [
    Step { words: 1, shift: 0, c: [0xb8bc_2593, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 1, shift: 4, c: [0x957d_3cb2, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 3, c: [0xd5b5_667e, 0x4855_af50, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 4, c: [0xb235_02fb, 0x5aaa_0531, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 4, c: [0xb7f4_8e29, 0xcb86_40f9, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 4, c: [0xf214_35cb, 0xb5f3_dd09, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0xd20d_20d1, 0x4e08_a346, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0xfb55_86cc, 0xc935_bb94, 0x0000_0000, 0x0000_0000] },
    Step { words: 3, shift: 6, c: [0xdca8_f158, 0xc7f8_e7b6, 0x2c11_e76d, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0x9c09_c09c, 0x09c0_9c05, 0x4d5f_d635, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0xd00d_00d0, 0x0d00_d00d, 0x009c_5e0d, 0x0000_0000] },
    Step { words: 3, shift: 9, c: [0xb60b_60b6, 0x0b60_b60b, 0x60b6_0b26, 0x0000_0000] },
    Step { words: 4, shift: 15, c: [0x1555_5555, 0x5555_5555, 0x5555_5555, 0x5555_28a7] },
];

/// (ln x - 1/(2 x) - digamma(x)) x^2 in g = 128/x^2, alternating.
pub(super) const DIGAMMA_POLY: [Step; 13] = [
    Step { words: 1, shift: 0, c: [0x8c02_8731, 0x0000_0000, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 3, c: [0xd556_d2de, 0x013e_fb1c, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 4, c: [0x8c1f_da4a, 0x96d6_0a55, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 3, c: [0xd39c_2492, 0x086e_bced, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 4, c: [0xc373_c291, 0x2b23_c6c6, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 4, c: [0xe2f2_f20c, 0x9050_324e, 0x0000_0000, 0x0000_0000] },
    Step { words: 2, shift: 5, c: [0xaaaa_aaa9, 0x7219_10da, 0x0000_0000, 0x0000_0000] },
    Step { words: 3, shift: 5, c: [0xacca_ccac, 0xc9af_ed94, 0x2e56_3225, 0x0000_0000] },
    Step { words: 3, shift: 5, c: [0xf83e_0f83, 0xe0f7_9750, 0x1303_6f87, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0x8888_8888, 0x8888_8879, 0xfd2c_574e, 0x0000_0000] },
    Step { words: 3, shift: 7, c: [0x8208_2082, 0x0820_8208, 0x1fd9_2372, 0x0000_0000] },
    Step { words: 4, shift: 8, c: [0x8888_8888, 0x8888_8888, 0x8888_8706, 0xec46_179b] },
    Step { words: 4, shift: 13, c: [0x1555_5555, 0x5555_5555, 0x5555_5555, 0x5550_c55a] },
];
