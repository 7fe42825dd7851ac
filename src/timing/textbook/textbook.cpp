#include "timing/textbook/textbook_pricer.hpp"

#include <mlsysim/tape/record.hpp>

namespace mlsysim {

template <> const Pricer<double>& textbook_pricer<double>() {
  static const detail::TextbookPricer<double> pricer;
  return pricer;
}
template <> const Pricer<Recorded>& textbook_pricer<Recorded>() {
  static const detail::TextbookPricer<Recorded> pricer;
  return pricer;
}

}  // namespace mlsysim
