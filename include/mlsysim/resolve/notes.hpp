#pragma once
/// Assumptions and warnings that a resolver writes down while it works.

#include <mlsysim/units/any_quantity.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A value that was assumed, and who says so.
struct Assumption {
  std::string name;
  std::string value;
  std::string source;
};

/// Where notes are kept once somebody asks for them.
struct NoteBook {
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;

  void clear() {
    assumptions.clear();
    warnings.clear();
  }
};

/// The second argument of a `solve` that has something to say. Writing costs one branch when nobody listens.
class Notes {
 public:
  /// Nobody listens.
  Notes() = default;
  /// Notes go to `book`, which outlives this object.
  explicit Notes(NoteBook& book) : book_(&book) {}

  [[nodiscard]] bool wanted() const { return book_ != nullptr; }

  /// States that `name` was taken as `value`, because `source` says so.
  void assume(std::string_view name, std::string_view value, std::string_view source) {
    if (wanted()) put(name, std::string(value), source);
  }
  void assume(std::string_view name, double value, std::string_view source) {
    if (wanted()) put(name, value, source);
  }
  template <class D>
  void assume(std::string_view name, const Quantity<D, double>& value, std::string_view source) {
    if (wanted()) put(name, AnyQuantity(value), source);
  }
  /// The text is made only when somebody listens.
  template <std::invocable F> void assume(std::string_view name, F&& text, std::string_view source) {
    if (wanted()) put(name, std::string(text()), source);
  }

  /// States that the answer rests on less than it should, e.g. outside of the range that was fitted.
  void warn(std::string_view text) {
    if (wanted()) book_->warnings.emplace_back(text);
  }
  template <std::invocable F> void warn(F&& text) {
    if (wanted()) book_->warnings.emplace_back(text());
  }

 private:
  void put(std::string_view name, std::string value, std::string_view source);
  void put(std::string_view name, double value, std::string_view source);
  void put(std::string_view name, const AnyQuantity& value, std::string_view source);

  NoteBook* book_ = nullptr;
};

}  // namespace mlsysim
