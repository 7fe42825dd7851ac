#include "request_trace/detail/json_values.hpp"

#include <fmt/format.h>

namespace mlsysim::detail {

/// A character between two values.
std::string JsonValues::between(char c) {
  if (c == ' ' || c == '\t' || c == '\r' || c == '\n') return {};
  if (closed_) return "something behind the closed array";
  if (c == '[' && !array_ && !any_) {
    array_ = true;
    return {};
  }
  if (c == ',' && array_ && any_) return {};
  if (c == ']' && array_) {
    closed_ = true;
    return {};
  }
  if (c != '{' && c != '[')
    return fmt::format("'{}' where a value should begin", c >= ' ' && c < 127 ? c : '?');
  any_ = true;
  begun_ = line_;
  depth_ = 1;
  value_ = c;
  return {};
}

std::string JsonValues::add(std::string_view piece) {
  for (const char c : piece) {
    if (c == '\n') ++line_;
    if (depth_ == 0) {
      if (auto wrong = between(c); !wrong.empty()) return wrong;
      continue;
    }
    value_ += c;
    if (value_.size() > kLongestValue) return fmt::format("a value of more than {} MiB", kLongestValue >> 20);
    if (text_) {
      text_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
    } else if (c == '"') {
      text_ = true;
    } else if (c == '{' || c == '[') {
      if (++depth_ > 64) return "values nested more than 64 deep";
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      take_(value_, begun_);
      value_.clear();
    }
  }
  return {};
}

std::string JsonValues::finish() const {
  if (depth_ > 0) return "a value that does not end";
  if (array_ && !closed_) return "an array that does not end";
  return any_ || array_ ? "" : "nothing";
}

}  // namespace mlsysim::detail
