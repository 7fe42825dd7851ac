// A Solver of your own, twice: by hand, and by asking a law backwards.
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolver_api/solve_for.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/units/unit.hpp>

#include <cstdio>

using namespace mlsysim;

struct RequiredBandwidthSolver : Solver<RequiredBandwidthSolver> {
  struct Inputs {
    const Workload* workload;
    Time<> target_latency;
    MLSYSIM_FIELDS(Inputs, workload, target_latency)
  };
  struct Result {
    Bandwidth<> required_bw;
    static constexpr auto fields() {
      return rows(field(&Result::required_bw, "required_bw", "GB/s", "bandwidth that meets the target"));
    }
  };
  Result solve(const Inputs& in) const { return {in.workload->size() / in.target_latency}; }
  Check verify(const Inputs& in, const Result& r) const {
    return {in.target_latency, in.workload->size() / r.required_bw};
  }
};

// A law: a Model whose structs and solve are templates. It can be asked for any of its inputs.
struct StreamModel {
  template <class T> struct Inputs {
    Data<T> weights;
    Bandwidth<T> hbm;
    MLSYSIM_FIELDS(Inputs, weights, hbm)
  };
  template <class T> struct Result {
    Time<T> time;
    MLSYSIM_FIELDS(Result, time)
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) { return {in.weights / in.hbm}; }
};

int main() {
  Workload llama;
  llama.name = "Llama3_8B";
  llama.parameters = 8.03 * unit::Gparam;
  const auto r = evaluate(RequiredBandwidthSolver{}, {.workload = &llama, .target_latency = 10 * unit::ms});
  std::printf("%.1f GB/s\n%s\n", r->required_bw.in(unit::GB / unit::s),
              r.report().verification.text().c_str());

  const auto asked =
      solve_for(StreamModel{}, {llama.size(), 1 * unit::TB / unit::s}, "hbm", equals("time", 10 * unit::ms));
  std::printf("%.1f GB/s by asking the law\n", asked->value.in("GB/s"));
}
