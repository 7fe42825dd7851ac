// expect: fail
// expect-match: (no match|cannot convert|could not convert|no viable|conversion)
// mistake: a law that computes with double behind the scalar's back: it has no tape, bounds or sweep
// fix: keep every number of a law in T: Time<T>, Data<T>, T

#include <mlsysim/tape/register.hpp>
#include <mlsysim/units/unit.hpp>
using namespace mlsysim;

struct Stream {
  static constexpr LawInfo info{"Stream", "time = weights / hbm", "none"};
  template <class T> struct Inputs {
    Data<T> weights;
    Bandwidth<T> hbm;
    MLSYSIM_FIELDS(Inputs, weights, hbm)
  };
  template <class T> struct Result {
    Time<T> time;
    MLSYSIM_FIELDS(Result, time)
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    const double seconds = (in.weights / in.hbm).base();
    return {seconds * unit::s};
  }
};

const LawEntry& entry = entry_of<Stream>();
