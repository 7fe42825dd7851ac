#pragma once
/// A text that is formatted when it is read, so that evaluations that are not printed format nothing.
///
/// It holds a finished text, or up to four numbers and two words with the function that writes them.
/// Example: a writer with the number 22 and the word "GB" gives "22 GB" at `str()`.

#include <mlsysim/units/shared_text.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace mlsysim {

/// A finished text, or the parts of one and its writer.
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
