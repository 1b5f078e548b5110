"""The options that choose how keys are distributed, by sysbench's names. All profiles have them."""

from collections.abc import Mapping

from tuibench.model.plan import OptionValue
from tuibench.workload.options import Option, integer
from tuibench.workload.program import Distribution, Gaussian, Pareto, Special, Uniform, Zipfian

OPTIONS: dict[str, Option] = {
    "rand_type": Option(
        type="choice",
        default="special",
        help="how keys are distributed",
        choices=("uniform", "gaussian", "special", "pareto", "zipfian"),
    ),
    "rand_spec_iter": integer(12, "uniform draws in one gaussian draw", minimum=1, maximum=1000),
    "rand_spec_pct": integer(1, "percent of the keys that are special", maximum=100),
    "rand_spec_res": integer(75, "percent of the draws that hit special keys", maximum=100),
    "rand_pareto_h": Option(
        type="number", default=0.2, help="shape of the pareto distribution", minimum=1e-6, maximum=0.999999
    ),
    "rand_zipfian_exp": Option(
        type="number", default=0.8, help="exponent of the zipfian distribution", minimum=0.0, maximum=100.0
    ),
}


def chosen(options: Mapping[str, OptionValue]) -> Distribution:
    """The distribution that resolved options ask for."""
    makers: dict[str, Distribution] = {
        "uniform": Uniform(),
        "gaussian": Gaussian(int(options["rand_spec_iter"])),
        "special": Special(
            iterations=int(options["rand_spec_iter"]),
            hot_width=float(options["rand_spec_pct"]) / 100,
            hot_share=float(options["rand_spec_res"]) / 100,
        ),
        "pareto": Pareto(float(options["rand_pareto_h"])),
        "zipfian": Zipfian(float(options["rand_zipfian_exp"])),
    }
    return makers[str(options["rand_type"])]
