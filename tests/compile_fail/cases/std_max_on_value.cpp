// expect: fail
// expect-match: a law must not branch on a value
// mistake: `std::max` on a law's value: it branches, and a recording has no value to branch on
// fix: write max(a, b) without std::, the library's own, by value

#include <mlsysim/tape/register.hpp>

#include <algorithm>
using namespace mlsysim;

struct Slower {
  static constexpr LawInfo info{"Slower", "time = max(weights / hbm, weights / host)", "none"};
  template <class T> struct Inputs {
    Data<T> weights;
    Bandwidth<T> hbm, host;
    MLSYSIM_FIELDS(Inputs, weights, hbm, host)
  };
  template <class T> struct Result {
    Time<T> time;
    MLSYSIM_FIELDS(Result, time)
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    return {std::max(in.weights / in.hbm, in.weights / in.host)};
  }
};

const LawEntry& entry = entry_of<Slower>();
