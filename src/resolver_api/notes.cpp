#include <mlsysim/resolver_api/notes.hpp>

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mlsysim {

std::string AssumedValue::str() const {
  switch (form_) {
    case Form::number:
      return pretty(base_, 6);
    case Form::exact:
      return fmt::format("{}", base_);
    case Form::quantity:
      return pretty(AnyQuantity::from_base(base_, exps_), 6);
    case Form::words:
      break;
  }
  return words_.str();
}

bool AssumedValue::reads_as(const AssumedValue& other) const {
  if (form_ != other.form_ || !(exps_ == other.exps_)) return str() == other.str();
  if (form_ == Form::words) return words_ == other.words_;
  // Numbers that are far apart read differently in any number of digits; of those that are close the text
  // decides.
  const double x = base_, y = other.base_;
  if (std::abs(x - y) > 1e-4 * std::max(std::abs(x), std::abs(y))) return false;
  return (x == y && std::signbit(x) == std::signbit(y)) || str() == other.str();
}

void Notes::put(Assumption&& a) {
  auto& known = book_->assumptions;
  if (book_->filtered_ > known.size()) book_->names_ = {}, book_->filtered_ = 0;  // some were taken away
  for (; book_->filtered_ < known.size(); ++book_->filtered_) book_->names_.add(known[book_->filtered_].name);
  // A resolver that calls others many times repeats their assumptions: each is listed once.
  if (book_->names_.add(a.name))
    for (const auto& k : known)
      if (k.name == a.name && k.source == a.source && k.value == a.value) return;
  ++book_->filtered_;
  if (known.capacity() == known.size()) known.reserve(std::max<std::size_t>(48, 2 * known.size()));
  known.push_back(std::move(a));
}

void Notes::add(std::string text, std::optional<BreakReason> why) {
  book_->warnings.push_back(std::move(text));
  if (why != BreakReason::approximation) book_->explain_last(why);
}

void NoteBook::explain_last(std::optional<BreakReason> reason) {
  reasons_.resize(warnings.size(), BreakReason::approximation);
  reasons_.back() = reason;
}

void NoteBook::append(const NoteBook& other) {
  assumptions.insert(assumptions.end(), other.assumptions.begin(), other.assumptions.end());
  for (std::size_t i = 0; i < other.warnings.size(); ++i) {
    warnings.push_back(other.warnings[i]);
    explain_last(other.reason_of(i));
  }
}

}  // namespace mlsysim
