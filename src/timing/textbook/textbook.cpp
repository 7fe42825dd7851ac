#include "timing/textbook/textbook_estimator.hpp"

#include <mlsysim/tape/record.hpp>

namespace mlsysim {

template <> const PassEstimator<double>& textbook_estimator<double>() {
  static const detail::TextbookEstimator<double> estimator;
  return estimator;
}
template <> const PassEstimator<Recorded>& textbook_estimator<Recorded>() {
  static const detail::TextbookEstimator<Recorded> estimator;
  return estimator;
}

}  // namespace mlsysim
