#include "timing/operators/operator_pricer.hpp"

#include <mlsysim/tape/record.hpp>

namespace mlsysim {

template <> const Pricer<Recorded>& operator_pricer<Recorded>() {
  static const detail::OperatorPricer<Recorded> pricer;
  return pricer;
}

}  // namespace mlsysim
