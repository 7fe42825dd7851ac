// Tokens, brackets and types of MLIR text.

#include "detail/mlir_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mlsysim::detail {
namespace {

constexpr bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '$' || c == '-';
}

}  // namespace

std::size_t line_of(std::string_view text, std::size_t offset) {
  return 1 +
         static_cast<std::size_t>(std::count(
             text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size())), '\n'));
}

void MlirCursor::fail(std::string what, std::string expected) const {
  const auto end = std::min(at_, text_.size());
  const auto line = text_.rfind('\n', end == 0 ? 0 : end - 1);
  const auto column = line == std::string_view::npos || end == 0 ? end + 1 : end - line;
  auto found = std::string(text_.substr(end, 24));
  found = found.substr(0, found.find('\n'));
  std::replace_if(
      found.begin(), found.end(), [](unsigned char c) { return c < 32 || c > 126; }, '?');
  throw InputError("mlsysim.programs.004", std::move(what), "", found.empty() ? "the end of the line" : found,
                   std::move(expected), "give the program as its compiler prints it",
                   place(*file_, line_of(text_, end), column));
}

char MlirCursor::peek() const {
  if (at_end()) fail("the text ends in the middle of a statement", "the rest of it");
  return text_[at_];
}

void MlirCursor::expect(char c) {
  skip_blank();
  if (!take(c)) fail("the statement cannot be read", fmt::format("'{}'", c));
}

bool MlirCursor::skip_blank() {
  bool line = false;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '/' && starts("//")) {
      skip_line();
      continue;
    }
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') break;
    line = line || c == '\n';
    ++at_;
  }
  return line;
}

void MlirCursor::skip_spaces() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

void MlirCursor::skip_line() {
  const auto end = text_.find('\n', at_);
  at_ = end == std::string_view::npos ? text_.size() : end;
}

bool MlirCursor::begins_word() const {
  return !at_end() && is_word(text_[at_]) && text_[at_] != '-' && text_[at_] != '.';
}

char MlirCursor::after_blank() {
  const auto back = at_;
  skip(1);
  skip_blank();
  const char c = peek_or(' ');
  at_ = back;
  return c;
}

bool MlirCursor::continues() const {
  if (at_end()) return false;
  const char c = text_[at_];
  if (c == ':' || c == ',' || c == ')' || c == '(' || c == '{' || c == '-' || c == '=' || c == '<')
    return true;
  for (const std::string_view word : {"cond ", "do ", "reducer", "attributes ", "loc(", "across "})
    if (starts(word)) return true;
  return false;
}

std::string_view MlirCursor::word() {
  const auto from = at_;
  if (!at_end() && (text_[at_] == '#' || text_[at_] == '!' || text_[at_] == '^')) ++at_;
  while (at_ < text_.size() && is_word(text_[at_])) {
    if (text_[at_] == '-' && starts("->")) break;
    ++at_;
  }
  if (at_ == from) fail("there is no name here", "a name");
  return text_.substr(from, at_ - from);
}

std::string_view MlirCursor::value_name() {
  const auto from = at_++;
  while (at_ < text_.size() && is_word(text_[at_])) {
    if (text_[at_] == '-' && starts("->")) break;
    ++at_;
  }
  if (at_ == from + 1) fail("a value has no name", "a name after '%'");
  return text_.substr(from, at_ - from);
}

std::string_view MlirCursor::symbol() {
  ++at_;
  if (peek_or(' ') == '"') return quoted();
  return word();
}

std::string_view MlirCursor::quoted() {
  const auto from = ++at_;
  while (true) {
    const auto end = text_.find_first_of("\"\\", at_);
    if (end == std::string_view::npos) {
      at_ = text_.size();
      fail("a text has no end", "'\"'");
    }
    at_ = end + 1;
    if (text_[end] == '"') return text_.substr(from, end - from);
    ++at_;
  }
}

double MlirCursor::number() {
  std::uint64_t n = 0;
  const auto* begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), n);
  if (error != std::errc()) fail("there is no number here", "a whole number");
  at_ += static_cast<std::size_t>(end - begin);
  return static_cast<double>(n);
}

void MlirCursor::skip_brackets() {
  const auto from = at_;
  std::string closing;  // in small texts no allocation
  do {
    const auto next = text_.find_first_of("\"()[]{}<>-", at_);
    if (next == std::string_view::npos) {
      at_ = from;
      fail("a bracket is not closed", "the bracket that closes it");
    }
    at_ = next;
    const char c = text_[at_];
    if (c == '"') {
      quoted();
      continue;
    }
    if (c == '-') {
      at_ += starts("->") ? 2 : 1;
      continue;
    }
    ++at_;
    if (c == '(') closing.push_back(')');
    if (c == '[') closing.push_back(']');
    if (c == '{') closing.push_back('}');
    if (c == '<') closing.push_back('>');
    if (c == ')' || c == ']' || c == '}' || c == '>') {
      if (closing.empty() || closing.back() != c) {
        at_ = next;
        fail("brackets cross", closing.empty() ? "no closing bracket" : fmt::format("'{}'", closing.back()));
      }
      closing.pop_back();
    }
    if (closing.size() > 256) fail("brackets nest too deeply", "at most 256 levels");
  } while (!closing.empty());
}

void MlirCursor::skip_value() {
  while (at_ < text_.size() && text_[at_] != '\n') {
    const char c = text_[at_];
    if (c == '(' || c == '[' || c == '{' || c == '<')
      skip_brackets();
    else if (c == '"')
      quoted();
    else
      ++at_;
  }
}

void MlirCursor::skip_type() {
  if (peek_or(' ') == '(') {  // a type of functions
    skip_brackets();
    skip_spaces();
    if (starts("->")) {
      skip(2);
      skip_spaces();
      skip_type();
    }
    return;
  }
  if (!at_end() && (text_[at_] == '!' || begins_word())) (void)word();
  if (peek_or(' ') == '<') skip_brackets();
}

void MlirCursor::read_type(MlirType& into, int depth) {
  if (depth > kNesting) fail("types nest too deeply", fmt::format("at most {} levels", kNesting));
  const auto from = at_;
  skip_type();
  const auto text = text_.substr(from, at_ - from);
  const auto open = text.find('<');
  const auto name = text.substr(0, open);
  const auto inside =
      open == std::string_view::npos ? std::string_view() : text.substr(open + 1, text.size() - open - 2);
  if (name == "tensor" || name == "memref" || name == "vector") return read_tensor(into, inside);
  if (name == "tuple" || name == "!util.ptr" || name == "!mhlo.async_bundle") {
    const auto after = at_;
    at_ = from + open + 1;
    while (at_ < after - 1) {
      const auto before = into.leaves.size();
      read_type(into, depth + 1);
      if (depth == 0) into.members.push_back(static_cast<std::uint32_t>(into.leaves.size() - before));
      skip_blank();
      if (!take(',')) break;
      skip_blank();
    }
    at_ = after;
    return;
  }
  if (name.ends_with("token") || name == "none" || name.starts_with("(")) return;
  TensorType scalar;
  scalar.element = &element_type(text);
  into.leaves.push_back(std::move(scalar));
}

void MlirCursor::read_tensor(MlirType& into, std::string_view inside) {
  TensorType t;
  std::size_t at = 0;
  while (at < inside.size()) {
    if (inside[at] == '?') {
      t.dims.push_back(-1);
      at += 1;
    } else if (inside[at] >= '0' && inside[at] <= '9') {
      std::int64_t n = 0;
      const auto [end, error] = std::from_chars(inside.data() + at, inside.data() + inside.size(), n);
      if (error != std::errc()) fail("an extent is out of range", "a number below 2^63");
      at = static_cast<std::size_t>(end - inside.data());
      t.dims.push_back(n);
    } else if (inside[at] == '-') {
      fail("an extent is negative", "a number, or ? for one that is not known");
    } else {
      break;
    }
    if (at < inside.size() && inside[at] == 'x') ++at;
  }
  auto element = inside.substr(at);
  // "f32, #stablehlo.bounds<8, ?>": the bound is the size that is allocated.
  const auto comma =
      element.starts_with("complex") ? element.find(',', element.find('>')) : element.find(',');
  if (comma != std::string_view::npos && !element.starts_with("!quant")) {
    const auto encoding = element.substr(comma + 1);
    if (const auto bounds = encoding.find("bounds<"); bounds != std::string_view::npos) {
      const auto sizes = integers_after(encoding.substr(bounds), "bounds");
      for (std::size_t i = 0; i < std::min(sizes.size(), t.dims.size()); ++i)
        if (t.dims[i] < 0 && sizes[i] >= 0) t.dims[i] = sizes[i];
    }
    element = element.substr(0, comma);
  }
  t.element = element.starts_with("!quant") ? &element_type("quantised") : &element_type(element);
  into.leaves.push_back(std::move(t));
}

std::size_t find_key(std::string_view text, std::string_view key) {
  for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    const auto end = at + key.size();
    if (begins && (end == text.size() || !is_word(text[end]))) return at;
  }
  return std::string_view::npos;
}

std::vector<std::int64_t> integers_after(std::string_view text, std::string_view key) {
  std::vector<std::int64_t> out;
  const auto at = find_key(text, key);
  if (at == std::string_view::npos) return out;
  auto i = at + key.size();
  // "= [", "= dense<[", "= dense<1>", "= array<i64: 1, 2>", "<8, ?>"
  const auto open = text.find_first_of("[<", i);
  if (open == std::string_view::npos) return out;
  i = open + 1;
  if (text[open] == '<' && i < text.size() && text[i] == '[') ++i;
  if (const auto colon = text.substr(open, 8).find("i64:"); colon != std::string_view::npos)
    i = open + colon + 4;
  while (i < text.size() && text[i] != ']' && text[i] != '>') {
    if ((text[i] >= '0' && text[i] <= '9') || text[i] == '-') {
      std::int64_t n = 0;
      const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), n);
      if (error != std::errc()) return out;
      out.push_back(n);
      i = static_cast<std::size_t>(end - text.data());
    } else {
      if (text[i] == '?') out.push_back(-1);
      ++i;
    }
  }
  return out;
}

}  // namespace mlsysim::detail
