#pragma once
// JSON values of a long file, one at a time.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mlsysim::detail {

inline constexpr std::uint64_t kLongestValue = 64ULL << 20;  ///< [B] of one value

/// Cuts a file into values: those that follow one another (JSON lines, or one document), or the elements of
/// an array around them. Only where a value begins and ends is looked at; whether it is JSON is for whoever
/// parses it.
class JsonValues {
 public:
  /// @param take gets each value and the line on which it begins, from 1
  explicit JsonValues(std::function<void(std::string_view, std::uint64_t)> take) : take_(std::move(take)) {}

  /// @return what is wrong, in words; empty for nothing
  [[nodiscard]] std::string add(std::string_view piece);
  /// @return the same at the end of the file
  [[nodiscard]] std::string finish() const;
  [[nodiscard]] std::uint64_t line() const { return line_; }

 private:
  [[nodiscard]] std::string between(char c);

  std::function<void(std::string_view, std::uint64_t)> take_;
  std::string value_;
  std::uint64_t line_ = 1, begun_ = 1, depth_ = 0;
  bool text_ = false, escaped_ = false, array_ = false, closed_ = false, any_ = false;
};

}  // namespace mlsysim::detail
