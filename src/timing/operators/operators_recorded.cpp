#include "timing/operators/operator_estimator.hpp"

#include <mlsysim/tape/record.hpp>

namespace mlsysim {

template <> const PassEstimator<Recorded>& operator_estimator<Recorded>() {
  static const detail::OperatorEstimator<Recorded> estimator;
  return estimator;
}

}  // namespace mlsysim
