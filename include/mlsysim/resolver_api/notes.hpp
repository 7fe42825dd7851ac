#pragma once
/// Assumptions and warnings that a resolver records while it solves.
///
/// Without a collector a note costs one branch, and its text is not made. An assumption with equal name,
/// value and source is kept once.
/// Example: `notes.assume("y", 3 * unit::ms, "measured")` is kept and later reads "y", "3 ms", "measured".

#include <mlsysim/resolver_api/break_reason.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/shared_text.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim {

/// The value of an assumption: stored as it was given, and formatted only when it is read.
class AssumedValue {
 public:
  AssumedValue() = default;
  // NOLINTBEGIN(google-explicit-constructor): what a value is given as
  template <std::size_t n> consteval AssumedValue(const char (&literal)[n]) : words_(literal) {}
  AssumedValue(SharedText words) : words_(std::move(words)) {}
  AssumedValue(const std::string& words) : words_(words) {}
  AssumedValue(double number) : base_(number), form_(Form::number) {}
  template <class D>
  AssumedValue(const Quantity<D, double>& q) : base_(q.base()), exps_(D::exps), form_(Form::quantity) {}
  // NOLINTEND(google-explicit-constructor)
  /// A number that is shown with all its digits, as it was authored.
  [[nodiscard]] static AssumedValue exact(double number) {
    AssumedValue v(number);
    v.form_ = Form::exact;
    return v;
  }

  /// A number in the base unit, with its dimension.
  [[nodiscard]] static AssumedValue of(double base, const Exponents& exps) {
    AssumedValue v(base);
    v.exps_ = exps;
    v.form_ = exps.dimensionless() ? Form::number : Form::quantity;
    return v;
  }

  /// For readers: "0.5", "3 ms", "graph".
  [[nodiscard]] std::string str() const;
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string() const { return str(); }

  /// Whether both read the same.
  friend bool operator==(const AssumedValue& a, const AssumedValue& b) { return a.reads_as(b); }
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  friend bool operator==(const AssumedValue& a, const T& text) { return a.str() == std::string_view(text); }
  friend std::string operator+(std::string a, const AssumedValue& b) { return std::move(a += b.str()); }
  friend std::string operator+(const AssumedValue& a, std::string_view b) { return a.str() += b; }
  template <class Traits>
  friend auto& operator<<(std::basic_ostream<char, Traits>& out, const AssumedValue& value) {
    return out << value.str();
  }

 private:
  enum class Form : std::uint8_t { words, number, exact, quantity };
  [[nodiscard]] bool reads_as(const AssumedValue& other) const;

  SharedText words_;
  double base_ = 0;
  Exponents exps_{};
  Form form_ = Form::words;
};

/// A value that was assumed, and its source.
struct Assumption {
  SharedText name;
  AssumedValue value;
  SharedText source;
};

/// Says at once of most names that they are new, so that lists of assumptions are hardly ever searched.
class NameFilter {
 public:
  /// Whether the name may have been here before.
  bool add(std::string_view name) {
    if (name.empty()) return true;
    const auto at = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(name[i]));
    };
    const std::size_t n = name.size();
    const std::size_t key = (n * 37 + at(0) * 7 + at(n / 2) * 59 + at(n - 1) * 23) % 256;
    const std::uint64_t bit = std::uint64_t{1} << (key % 64);
    const bool known = (bits_[key / 64] & bit) != 0;
    bits_[key / 64] |= bit;
    return known;
  }

 private:
  std::array<std::uint64_t, 4> bits_{};
};

/// Storage of notes, made when they are collected. Clearing it keeps the memory.
struct NoteBook {
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;

  /// Why the answer is not a full one, for the warning of this index; nothing for a remark.
  [[nodiscard]] std::optional<BreakReason> reason_of(std::size_t warning) const {
    return warning < reasons_.size() ? reasons_[warning] : BreakReason::approximation;
  }
  /// The notes of another answer behind these.
  void append(const NoteBook& other);

  void clear() {
    assumptions.clear();
    warnings.clear();
    reasons_.clear();
    names_ = {};
    filtered_ = 0;
  }

 private:
  friend class Notes;
  /// Reasons of the first warnings. All later warnings are approximations, as nearly all are.
  std::vector<std::optional<BreakReason>> reasons_;
  void explain_last(std::optional<BreakReason> reason);
  NameFilter names_;  // of the first `filtered_` assumptions
  std::size_t filtered_ = 0;
};

/// The second argument of a `solve` that reports assumptions and warnings.
class Notes {
 public:
  /// Notes that are dropped.
  Notes() = default;
  /// Notes go to `book`, which outlives this object.
  explicit Notes(NoteBook& book) : book_(&book) {}

  [[nodiscard]] bool wanted() const { return book_ != nullptr; }

  /// States that `name` was taken as `value`, because `source` says so. No text is made of it before it is
  /// read.
  void assume(TextRef name, TextRef value, TextRef source) {
    if (wanted()) put({name.keep(), value.keep(), source.keep()});
  }
  void assume(TextRef name, double value, TextRef source) {
    if (wanted()) put({name.keep(), value, source.keep()});
  }
  template <class D> void assume(TextRef name, const Quantity<D, double>& value, TextRef source) {
    if (wanted()) put({name.keep(), value, source.keep()});
  }
  template <Choice E> void assume(TextRef name, E value, TextRef source) {
    if (wanted()) put({name.keep(), SharedText::lasting(name_of(value)), source.keep()});
  }
  /// The text is made only when notes are collected.
  template <std::invocable F> void assume(TextRef name, F&& text, TextRef source) {
    if (wanted()) put({name.keep(), std::string(text()), source.keep()});
  }
  void assume(Assumption assumption) {
    if (wanted()) put(std::move(assumption));
  }

  /// States that the answer rests on less than it should, e.g. outside of the range that was fitted.
  void warn(std::string_view text, BreakReason why = BreakReason::approximation) {
    if (wanted()) add(std::string(text), why);
  }
  template <std::invocable F> void warn(F&& text, BreakReason why = BreakReason::approximation) {
    if (wanted()) add(std::string(text()), why);
  }
  /// States what a reader should know of a full answer, e.g. that an input has no effect on it.
  void remark(std::string_view text) {
    if (wanted()) add(std::string(text), std::nullopt);
  }
  template <std::invocable F> void remark(F&& text) {
    if (wanted()) add(std::string(text()), std::nullopt);
  }

 private:
  void put(Assumption&& a);
  void add(std::string text, std::optional<BreakReason> why);

  NoteBook* book_ = nullptr;
};

}  // namespace mlsysim
