#pragma once
/// A sentence that is written when somebody reads it.

#include <mlsysim/units/shared_text.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace mlsysim {

/// Text, or what it will say and who writes it: an evaluation that nobody reads formats nothing.
class LazyText {
 public:
  /// Numbers and words of a sentence; the writer knows what they are.
  struct Parts {
    std::array<double, 4> numbers{};
    std::array<SharedText, 2> words{};
  };
  using Writer = std::string (*)(const Parts&);

  LazyText() = default;
  // NOLINTBEGIN(google-explicit-constructor): texts are given where one is wanted
  template <std::size_t n>
  consteval LazyText(const char (&literal)[n]) : parts_{{}, {SharedText(literal), {}}} {}
  LazyText(SharedText text) : parts_{{}, {std::move(text), {}}} {}
  LazyText(const std::string& text) : LazyText(SharedText(text)) {}
  LazyText(std::string_view text) : LazyText(SharedText(text)) {}
  // NOLINTEND(google-explicit-constructor)
  LazyText(Writer writer, Parts parts) : writer_(writer), parts_(std::move(parts)) {}

  [[nodiscard]] std::string str() const {
    return writer_ == nullptr ? parts_.words[0].str() : writer_(parts_);
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string() const { return str(); }
  [[nodiscard]] bool empty() const { return writer_ == nullptr && parts_.words[0].empty(); }

  friend bool operator==(const LazyText& a, const LazyText& b) { return a.str() == b.str(); }
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  friend bool operator==(const LazyText& a, const T& b) { return a.str() == std::string_view(b); }
  friend std::string operator+(std::string a, const LazyText& b) { return std::move(a += b.str()); }
  friend std::string operator+(const LazyText& a, std::string_view b) { return a.str() += b; }
  template <class Traits>
  friend auto& operator<<(std::basic_ostream<char, Traits>& out, const LazyText& text) {
    return out << text.str();
  }

 private:
  Writer writer_ = nullptr;
  Parts parts_;
};

}  // namespace mlsysim
