"""Every constant of the vector math, as hexadecimal floats, the constant term first.

Written by benchmarks/vmath_coefficients.py, which also says what each row approximates: change that, not this.
"""

# name and format: coefficients  # log2 of the relative error of the function served, from the polynomial alone
TABLE = {
    "ln2 f64": "0x1.62e42fefa39efp-1 0x1.abc9e3b39803fp-56",  # -109.9
    "ln2 f32": "0x1.62e43p-1 -0x1.05c61p-29",  # -52.8
    "log2_e f64": "0x1.71547652b82fep+0 0x1.777d0ffda0d24p-56",  # -110.1
    "log2_e f32": "0x1.715476p+0 0x1.4ae0cp-26",  # -51.6
    "log10_e f64": "0x1.bcb7b1526e50ep-2 0x1.95355baaafad3p-57",  # -109.8
    "log10_e f32": "0x1.bcb7b2p-2 -0x1.5b235ep-27",  # -51.9
    "log10_2 f64": "0x1.34413509f79ffp-2 -0x1.9dc1da994fd21p-59",  # -112.1
    "log10_2 f32": "0x1.344136p-2 -0x1.ec10cp-27",  # -52.2
    "half_pi f64": "0x1.921fb54442d18p+0 0x1.1a62633145c07p-54 -0x1.f1976b7ed8fbcp-110",  # -164.3
    "half_pi f32": "0x1.921fb6p+0 -0x1.777a5cp-25 -0x1.ee59dap-50",  # -77.0
    "pi f64": "0x1.921fb54442d18p+1 0x1.1a62633145c07p-53",  # -109.7
    "pi f32": "0x1.921fb6p+1 -0x1.777a5cp-24",  # -49.7
    "two_over_pi f64": "0x1.45f306dc9c883p-1",  # -53.8
    "two_over_pi f32": "0x1.45f306p-1",  # -24.6
    "exp f64": (  # -61.0
        "0x1p-1 0x1.5555555555559p-3 0x1.555555555553fp-5 0x1.111111110f668p-7 "
        "0x1.6c16c16c1f28p-10 0x1.a01a01b001d51p-13 0x1.a01a017b5e11bp-16 0x1.71ddf7fea1eacp-19 "
        "0x1.27e536980c247p-22 0x1.af5f6807c1d79p-26 0x1.1ee88ea3e8bfap-29"
    ),
    "exp f32": "0x1p-1 0x1.555554p-3 0x1.5554cep-5 0x1.111238p-7 0x1.6d7344p-10 0x1.a03292p-13",  # -30.3
    "exp2 f64": (  # -57.8
        "0x1.62e42fefa39efp-1 0x1.ebfbdff82c58ep-3 0x1.c6b08d704a0ep-5 0x1.3b2ab6fba4e64p-7 "
        "0x1.5d87fe78a25c2p-10 0x1.430912f8842e6p-13 0x1.ffcbfc752cacbp-17 0x1.62c021e162a1p-20 "
        "0x1.b524dc91cb0aep-24 0x1.e4d06eaff6b5dp-28 0x1.ea028b1b5836dp-32 0x1.c2cdaf0f92a35p-36"
    ),
    "exp2 f32": (  # -30.6
        "0x1.62e43p-1 0x1.ebfbep-3 0x1.c6b086p-5 0x1.3b2a16p-7 0x1.5d8a8p-10 0x1.445ddep-13 0x1.fde424p-17"
    ),
    "sinh f64": (  # -61.6
        "0x1.5555555555559p-3 0x1.111111110f66p-7 0x1.a01a01b006f83p-13 0x1.71ddf7f1a91f8p-19 0x1.af5f7e76b00d7p-26"
    ),
    "sinh f32": "0x1.555556p-3 0x1.11105cp-7 0x1.a170d2p-13",  # -33.2
    "cosh f64": (  # -66.3
        "0x1p-1 0x1.555555555555cp-5 0x1.6c16c16c13e84p-10 0x1.a01a01b191973p-16 "
        "0x1.27e4c4d4e60c4p-22 0x1.1f95925ad381dp-29"
    ),
    "cosh f32": "0x1p-1 0x1.5554acp-5 0x1.6d97a8p-10",  # -32.1
    "log f64": (  # -58.5
        "0x1.5555555555593p-1 0x1.999999997f9e8p-2 0x1.249249422d1dbp-2 0x1.c71c51d3f38f2p-3 "
        "0x1.74664ac695a16p-3 0x1.39a0722c2566ap-3 0x1.2f1328c091ca1p-3"
    ),
    "log f32": "0x1.555554p-1 0x1.999accp-2 0x1.2438a6p-2 0x1.e301a8p-3",  # -32.4
    "sin f64": (  # -59.5
        "-0x1.5555555555555p-3 0x1.11111111111p-7 -0x1.a01a01a0186fp-13 0x1.71de3a52e8097p-19 "
        "-0x1.ae64522efd789p-26 0x1.6120500f0af91p-33 -0x1.aa846c843b804p-41"
    ),
    "sin f32": "-0x1.555544p-3 0x1.1106acp-7 -0x1.990f1ap-13",  # -27.7
    "cos f64": (  # -62.7
        "0x1.5555555555555p-5 -0x1.6c16c16c16bfcp-10 0x1.a01a01a0189a6p-16 -0x1.27e4fb75b67f3p-22 "
        "0x1.1eed8c55fd1bbp-29 -0x1.9392e25949b9dp-37 0x1.aa9fd2b314d37p-45"
    ),
    "cos f32": "0x1.555548p-5 -0x1.6c0b58p-10 0x1.99bbd6p-16",  # -32.3
    "arcsin f64": (  # -59.6
        "0x1.5555555555577p-3 0x1.333333332e1p-4 0x1.6db6db7214447p-5 0x1.f1c71a945cd52p-6 "
        "0x1.6e8bdeee9bee9p-6 0x1.1c49ef7751fd6p-6 0x1.ca1fa0e72d2dp-7 0x1.7584f78b2d73ap-7 "
        "0x1.613f83865ae4ep-7 0x1.e5cbab30deca3p-9 0x1.63a86bfaf4fc1p-6 -0x1.580d8315bbbd3p-6 "
        "0x1.0b4b804aa0f9cp-5"
    ),
    "arcsin f32": "0x1.55554cp-3 0x1.33388p-4 0x1.6caed6p-5 0x1.04919cp-5 0x1.d9202cp-7 0x1.335586p-5",  # -31.2
    "arctan f64": (  # -56.6
        "-0x1.5555555555526p-2 0x1.999999999554ep-3 -0x1.249249237e2fdp-3 0x1.c71c717f96b2ep-4 "
        "-0x1.745d11ab10329p-4 0x1.3b13667705664p-4 -0x1.110e5023582e9p-4 0x1.e1bb9b59005bfp-5 "
        "-0x1.ae5e44f8818a8p-5 0x1.82da45e6a4ca3p-5 -0x1.59a296597ea36p-5 0x1.2c2ba1f4fa49p-5 "
        "-0x1.e9f1c75f2a5c6p-6 0x1.683305f913e01p-6 -0x1.c77e1092ed713p-7 0x1.d7a0d911ead9bp-8 "
        "-0x1.7a2150462efa5p-9 0x1.b3d966ca00509p-11 -0x1.3f1a14a5ca748p-13 0x1.bbc16de5debp-17"
    ),
    "arctan f32": (  # -28.6
        "-0x1.555552p-2 0x1.9997e4p-3 -0x1.247374p-3 0x1.c4f1dep-4 "
        "-0x1.68e6e6p-4 0x1.14228ep-4 -0x1.6e191ep-5 0x1.714a52p-6 "
        "-0x1.df95a6p-8 0x1.23f82p-10"
    ),
    "erf_slope f64": "0x1.06eba8214db69p-3",  # -53.2
    "erf_slope f32": "0x1.06eba8p-3",  # -27.0
    "erf f64": (  # -58.7
        "-0x1.812746b0379e6p-2 0x1.ce2f21a042b44p-4 -0x1.b82ce312851c6p-6 0x1.565bcd0dc07eep-8 "
        "-0x1.c02db3db70cc9p-11 0x1.f9a321e1dc419p-14 -0x1.f4d1e399770a4p-17 0x1.b9df24e2bd021p-20 "
        "-0x1.5f1ec81ac0e0ap-23 0x1.f7b3c710c6b69p-27 -0x1.3898471317effp-30 0x1.05edce4802395p-34"
    ),
    "erf f32": (  # -29.2
        "-0x1.812746p-2 0x1.ce2f0ap-4 -0x1.b829fap-6 0x1.562c08p-8 -0x1.bcdf1ap-11 0x1.d8d32ep-14 -0x1.44f2e4p-17"
    ),
    "log_erfc f64": (  # -57.7
        "-0x1.d97fbf27aa2a1p+0 -0x1.51c9b0006c236p+1 -0x1.afabc11a295f8p-1 -0x1.5477f09c03634p-5 "
        "0x1.48c9d3eb1d4d7p-7 -0x1.033f65affbf3cp-9 0x1.f1b38978c1556p-13 0x1.b8de9d972ba94p-16 "
        "-0x1.c7a780b9884bp-16 0x1.426bd79b0a0bep-17 -0x1.147552e544794p-19 0x1.32d40d923d194p-23 "
        "0x1.a2f4757861c59p-24 -0x1.befe8ad602efbp-25 0x1.002be58f99adp-26 -0x1.899ed949c232ap-29 "
        "0x1.94e156c634b73p-32 -0x1.fae8e975f26e4p-36 0x1.2477d82d3f769p-40"
    ),
    "log_erfc f32": (  # -26.9
        "-0x1.d97fcp+0 -0x1.51c9aap+1 -0x1.afad36p-1 -0x1.53f92ep-5 0x1.441a5ap-7 -0x1.deb504p-10 0x1.8527aap-13"
    ),
    "rcbrt f64": (  # -14.7
        "0x1.dfe03abbbb544p+0 -0x1.dc9ff75db738ep+0 0x1.8fb04b98aa4edp+0 -0x1.679d692b2fda3p-1 0x1.06e4e583926c6p-3"
    ),
    "rcbrt f32": "0x1.bb1008p+0 -0x1.492674p+0 0x1.6d3c62p-1 -0x1.44b238p-3",  # -11.9
    "power_c0 f64": "0x1.71547652b82fep+1 0x1.777d0ffda0d24p-55",  # -110.1
    "power_c1 f64": "0x1.ec709dc3a03fdp-1 0x1.d27f05548af0cp-55",  # -110.1
    "power f64": (  # -65.7
        "0x1.2776c50ef9bfcp-1 0x1.a61762a7aefafp-2 0x1.484b13d69402ap-2 0x1.0c9a854547ba3p-2 "
        "0x1.c68ee47ffcae9p-3 0x1.8a0a60d572644p-3 0x1.58f08cd2e8e88p-3 0x1.624f1e1c76c44p-3"
    ),
    "power_single f64": (  # -43.0
        "0x1.71547652b824fp+1 0x1.ec709dc5406dfp-1 0x1.2776c28e49fd4p-1 0x1.a61a32fbfe754p-2 "
        "0x1.47949f4a3c5d9p-2 0x1.21bbafc4fb9cfp-2"
    ),
    "exp2_single f64": (  # -28.9
        "0x1.62e430b170eadp-1 0x1.ebfbdc30d868fp-3 0x1.c6aee5365361p-5 0x1.3b2d522addc28p-7 "
        "0x1.5f40106ebb48ep-10 0x1.41fab0d6779a6p-13"
    ),
}

# The hexadecimal digits of 2/π after the point: enough for the largest float64.
TWO_OVER_PI_BITS = (
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424D"
    "D2E006492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D639"
    "835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B74F46"
    "3F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BAB"
)
