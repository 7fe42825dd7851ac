// expect: fail
// expect-match: a law must not branch on a value
// mistake: `if` on a value inside a law: it runs on doubles, and cannot be recorded
// fix: write select(condition, a, b); both sides are recorded, and each point takes one

#include <mlsysim/tape/register.hpp>
using namespace mlsysim;

struct Spill {
  static constexpr LawInfo info{"Spill", "spill = max(weights - capacity, 0)", "none"};
  template <class T> struct Inputs {
    Data<T> weights, capacity;
    MLSYSIM_FIELDS(Inputs, weights, capacity)
  };
  template <class T> struct Result {
    Data<T> spill;
    MLSYSIM_FIELDS(Result, spill)
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    if (in.weights > in.capacity) return {in.weights - in.capacity};
    return {};
  }
};

const LawEntry& entry = entry_of<Spill>();
