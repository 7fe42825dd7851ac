#include "detail/source_text.hpp"

#include <mlsysim/files/detail/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mlsysim::detail {
namespace {

namespace fs = std::filesystem;

/// Length of the UTF-8 sequence at `p`, or 0 when it is broken (overlong, surrogate, beyond U+10FFFF, cut).
std::size_t sequence_length(const char* p, const char* end) {
  const auto at = [&](std::ptrdiff_t i) -> unsigned {
    return p + i < end ? static_cast<unsigned char>(p[i]) : 0u;
  };
  const auto tail = [&](std::ptrdiff_t i) { return (at(i) & 0xC0u) == 0x80u; };
  const unsigned c = at(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return tail(1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    const bool legal = (c != 0xE0 || at(1) >= 0xA0) && (c != 0xED || at(1) < 0xA0);
    return legal && tail(1) && tail(2) ? 3 : 0;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    const bool legal = (c != 0xF0 || at(1) >= 0x90) && (c != 0xF4 || at(1) < 0x90);
    return legal && tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

std::string_view line_of(std::string_view bytes, std::uint32_t line) {
  std::size_t from = 0;
  for (std::uint32_t i = 1; i < line; ++i) {
    const auto next = bytes.find('\n', from);
    if (next == std::string_view::npos) return {};
    from = next + 1;
  }
  auto text = bytes.substr(from, bytes.find('\n', from) - from);
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

constexpr bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

}  // namespace

SourceText read_source(const fs::path& file) {
  const auto name = file.generic_string();
  auto read = files::try_read(file, kLargestFile);
  if (read.fault == files::ReadFault::missing)
    throw InputError(std::string(id_of(ZooFault::no_file)), "the file does not exist", name,
                     "nothing at this path", "a YAML file",
                     "check the path; relative paths start at the current directory", {name});
  if (read.fault == files::ReadFault::folder)
    throw InputError(std::string(id_of(ZooFault::not_a_file)), "this is a directory", name, "a directory",
                     "a YAML file", "name one of the files in it", {name});
  if (read.fault == files::ReadFault::unreadable)
    throw InputError(std::string(id_of(ZooFault::unreadable)), "the file cannot be read", name, read.found,
                     "a readable file", "check its permissions and those of its folder", {name});
  if (read.fault == files::ReadFault::irregular)
    throw InputError(std::string(id_of(ZooFault::not_a_file)), "this is not a regular file", name, read.found,
                     "a YAML file", "write the text to a file first", {name});
  if (read.fault == files::ReadFault::too_large)
    throw InputError(std::string(id_of(ZooFault::too_large)), "the file is too large", name, read.found,
                     fmt::format("at most {} MiB", kLargestFile >> 20),
                     "split it, or name the file that was meant", {name});
  std::string bytes = std::move(read.bytes);
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.erase(0, 3);
  return {name, std::move(bytes)};
}

void check_text(const SourceText& source) {
  const char* const begin = source.bytes.data();
  const char* const end = begin + source.bytes.size();
  bool content = false, comment = false;
  for (const char* p = begin; p < end;) {
    const auto length = sequence_length(p, end);
    const auto c = static_cast<unsigned char>(*p);
    if (length == 0 || (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F) {
      const auto offset = p - begin;
      throw InputError(
          std::string(id_of(ZooFault::binary)), "the file is not a text", source.file,
          fmt::format("byte 0x{:02x} at offset {} (line {})", c, offset, 1 + std::count(begin, p, '\n')),
          "UTF-8 text without control characters", "save it as UTF-8, or name the file that was meant",
          {source.file});
    }
    if (c == '\n')
      comment = false;
    else if (c == '#')
      comment = true;
    else if (!comment && c != ' ' && c != '\t' && c != '\r')
      content = true;
    p += length;
  }
  if (!content)
    throw InputError(std::string(id_of(ZooFault::empty_file)), "the file is empty", source.file, "no content",
                     "a schema line and entries",
                     "begin with, e.g., 'schema: mlsysim/hardware@1', or a plan with 'version: \"1\"'",
                     {source.file});
}

ErrorFacts placed(ErrorFacts facts, const std::string& file, std::string_view bytes, Place at) {
  facts.where.file = file;
  if (at.line == 0) return facts;
  const auto line = line_of(bytes, at.line);
  const std::size_t byte = std::min<std::size_t>(at.column > 0 ? at.column - 1 : 0, line.size());
  facts.where.line = static_cast<int>(at.line);
  facts.where.column =
      1 + static_cast<int>(std::count_if(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(byte),
                                         [](char c) { return !continues(c); }));
  // A window of the line around the place, so that a minified file does not flood the message.
  constexpr std::size_t before = 60, width = 100;
  std::size_t from = byte > before ? byte - before : 0;
  while (from > 0 && from < line.size() && continues(line[from])) --from;
  std::size_t to = std::min(line.size(), from + width);
  while (to < line.size() && continues(line[to])) ++to;
  std::string shown = from > 0 ? "..." : "", caret(shown.size(), ' ');
  for (std::size_t i = from; i < to; ++i) {
    const auto c = static_cast<unsigned char>(line[i]);
    shown += c == '\t' ? ' ' : c < 0x20 ? '?' : line[i];
    if (i < byte && !continues(line[i])) caret += ' ';
  }
  if (to < line.size()) shown += "...";
  facts.excerpt = fmt::format("{:>5} | {}\n      | {}^", at.line, shown, caret);
  return facts;
}

std::uint64_t content_hash(std::string_view bytes) {
  // Multiply and fold eight bytes at a time, in four lanes that do not wait for each other; not
  // cryptographic, it only tells an edited file from the cached one.
  constexpr std::uint64_t prime = 0x9E3779B97F4A7C15u;
  constexpr std::size_t lanes = 4, word = sizeof(std::uint64_t);
  const auto mix = [](std::uint64_t& h, std::uint64_t x) {
    h = (h ^ x) * prime;
    h ^= h >> 29;
  };
  std::array<std::uint64_t, lanes> h{};
  for (std::size_t k = 0; k < lanes; ++k) h[k] = 0xCBF29CE484222325u ^ ((bytes.size() + k) * prime);
  std::size_t i = 0;
  for (; i + lanes * word <= bytes.size(); i += lanes * word) {
    std::array<std::uint64_t, lanes> x;
    std::memcpy(x.data(), bytes.data() + i, sizeof x);
    for (std::size_t k = 0; k < lanes; ++k) mix(h[k], x[k]);
  }
  for (; i < bytes.size(); i += word) {
    std::uint64_t x = 0;
    std::memcpy(&x, bytes.data() + i, std::min(word, bytes.size() - i));
    mix(h[0], x);
  }
  for (std::size_t k = 1; k < lanes; ++k) mix(h[0], h[k]);
  return h[0] ^ (h[0] >> 32);
}

std::string quoted_text(std::string_view text) {
  constexpr std::size_t most = 60;
  std::size_t cut = std::min(text.size(), most);
  while (cut < text.size() && cut > 0 && continues(text[cut])) --cut;
  std::string out = "'";
  for (const char c : text.substr(0, cut)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out + (cut < text.size() ? "...'" : "'");
}

}  // namespace mlsysim::detail
