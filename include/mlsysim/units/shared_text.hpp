#pragma once
/// Immutable text whose copies cost one pointer: `SharedText`, and `TextRef` for text passed to a keeper.
///
/// Results carry many names, units and sources, and most of them are literals of this library. A literal is
/// only pointed to. Any other text is copied once, into memory that all copies share.
/// Example: `SharedText b = std::string("computed"), c = b;` leaves b and c at one address. sizeof is 16.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace mlsysim {

/// Text that never changes.
class SharedText {
 public:
  constexpr SharedText() = default;
  // NOLINTBEGIN(google-explicit-constructor): texts are given where one is wanted
  /// A literal is pointed to.
  template <std::size_t n>
  consteval SharedText(const char (&literal)[n]) : data_(literal), size_(static_cast<std::uint32_t>(n - 1)) {}
  SharedText(std::string_view text) : SharedText(copy_of(text)) {}
  SharedText(const std::string& text) : SharedText(std::string_view(text)) {}
  template <class T>
    requires(std::same_as<T, const char*>)
  SharedText(const T& text) : SharedText(std::string_view(text)) {}
  // NOLINTEND(google-explicit-constructor)
  /// Text that the caller keeps alive as long as anything points to it.
  [[nodiscard]] static constexpr SharedText lasting(std::string_view text) {
    SharedText t;
    t.data_ = text.data();
    t.size_ = static_cast<std::uint32_t>(text.size());
    return t;
  }

  constexpr SharedText(const SharedText& other)
      : data_(other.data_), size_(other.size_), counted_(other.counted_) {
    if (counted_) retain();
  }
  constexpr SharedText(SharedText&& other) noexcept
      : data_(std::exchange(other.data_, "")),
        size_(std::exchange(other.size_, 0)),
        counted_(std::exchange(other.counted_, false)) {}
  constexpr SharedText& operator=(SharedText other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(counted_, other.counted_);
    return *this;
  }
  constexpr ~SharedText() {
    if (counted_) release();
  }

  [[nodiscard]] constexpr std::string_view view() const { return {data_, size_}; }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator std::string_view() const { return view(); }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

  friend constexpr bool operator==(const SharedText& a, const SharedText& b) {
    return a.size_ == b.size_ && (a.data_ == b.data_ || a.view() == b.view());
  }
  template <class T>
    requires(!std::same_as<T, SharedText> && std::convertible_to<const T&, std::string_view>)
  friend constexpr bool operator==(const SharedText& a, const T& b) {
    return a.view() == std::string_view(b);
  }
  friend std::string operator+(std::string a, const SharedText& b) { return std::move(a += b.view()); }
  friend std::string operator+(const SharedText& a, std::string_view b) { return a.str() += b; }
  template <class Traits>
  friend auto& operator<<(std::basic_ostream<char, Traits>& out, const SharedText& text) {
    return out << text.view();
  }

 private:
  [[nodiscard]] static SharedText copy_of(std::string_view text);
  void retain() const;
  void release() const;

  const char* data_ = "";
  std::uint32_t size_ = 0;
  bool counted_ = false;  // a count of the copies stands before the characters
};

/// Text that a callee may keep. It is copied only by `keep()`.
class TextRef {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  template <std::size_t n>
  consteval TextRef(const char (&literal)[n]) : view_(literal, n - 1), lasts_(true) {}
  constexpr TextRef(std::string_view text) : view_(text) {}
  TextRef(const std::string& text) : view_(text) {}
  template <class T>
    requires std::same_as<T, const char*>
  constexpr TextRef(const T& text) : view_(text) {}
  constexpr TextRef(const SharedText& text) : view_(text), shared_(&text) {}
  // NOLINTEND(google-explicit-constructor)
  /// See SharedText::lasting.
  [[nodiscard]] static constexpr TextRef lasting(std::string_view text) {
    TextRef t(text);
    t.lasts_ = true;
    return t;
  }

  [[nodiscard]] constexpr std::string_view view() const { return view_; }
  [[nodiscard]] SharedText keep() const {
    if (lasts_) return SharedText::lasting(view_);
    return shared_ != nullptr ? *shared_ : SharedText(view_);
  }

 private:
  std::string_view view_;
  const SharedText* shared_ = nullptr;
  bool lasts_ = false;
};

}  // namespace mlsysim
