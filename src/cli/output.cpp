#include "output.hpp"

#include <mlsysim/units/error.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>

namespace mlsysim::cli {

void add_zoo_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  for (const auto& path : paths) {
    std::error_code failed;
    if (!std::filesystem::exists(path, failed))
      throw InputError({.id = "mlsysim.cli.040",
                        .message = "there is nothing at a path of --zoo",
                        .key = "--zoo",
                        .found = fmt::format("'{}'", path),
                        .expected = "a YAML file or a folder with some",
                        .hint = "check the path"});
  }
  name_zoo_paths(paths);
}

namespace {

/// A character that turns the direction of what follows or ends the line, and so can make a terminal show
/// other words than there are: U+061C, U+200E and U+200F, U+2028 to U+202E, U+2066 to U+2069. 0 where there
/// is none at the head of a text.
unsigned turning(std::string_view text) {
  if (text.starts_with("\xd8\x9c")) return 0x61c;
  if (text.size() < 3 || !(text.starts_with("\xe2\x80") || text.starts_with("\xe2\x81"))) return 0;
  const unsigned code = 0x2000U + 64U * (static_cast<unsigned char>(text[1]) - 0x80U) +
                        static_cast<unsigned char>(text[2]) - 0x80U;
  const bool turns = code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
  return turns ? code : 0;
}

/// Bytes of the character of UTF-8 at the head of a text; 0 where there is none, as in what is no text at
/// all.
std::size_t character(std::string_view text) {
  const auto c = static_cast<unsigned char>(text.front());
  const std::size_t n = c < 0x80                ? 1
                        : c >= 0xc2 && c < 0xe0 ? 2
                        : c >= 0xe0 && c < 0xf0 ? 3
                        : c >= 0xf0 && c < 0xf5 ? 4
                                                : 0;
  if (n == 0 || n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80) return 0;
  return n;
}

}  // namespace

std::string printable(std::string_view text, Colour colours) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0x1b && colours == Colour::on && text.substr(i).starts_with("\x1b[")) {
      const auto end = text.find_first_not_of("0123456789;", i + 2);
      if (end != std::string_view::npos && text[end] == 'm') {
        out += text.substr(i, end + 1 - i);
        i = end;
        continue;
      }
    }
    // The second half of the control characters, U+0080 to U+009F, is C2 80 to C2 9F in UTF-8.
    const bool high = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    const unsigned turn = c < 0x80 ? 0 : turning(text.substr(i));
    if (turn != 0) {
      out += fmt::format("\\u{:04x}", turn);
      i += turn < 0x800 ? 1 : 2;
    } else if (high)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
      out += fmt::format("\\x{:02x}", c);
    else if (const auto n = character(text.substr(i)); n == 0)
      out += fmt::format("\\x{:02x}", c);
    else {
      out += text.substr(i, n);
      i += n - 1;
    }
  }
  return out;
}

std::string verdict_first(bool fits, std::string_view summary, const Table& table,
                          const RenderOptions& options) {
  auto text = render(table, options);
  if (options.format != OutputFormat::text) return text;
  const std::string_view said = fits ? "fits: " : "does not fit: ";  // how the summary of an answer begins
  if (summary.starts_with(said))
    return fmt::format("{}: {}.\n\n{}", fits ? "FITS" : "DOES NOT FIT", summary.substr(said.size()), text);
  return fmt::format("{}{}.\n\n{}", fits ? "FITS. " : "DOES NOT FIT: ", summary, text);
}

Target target_of(const std::string& output) {
  const auto dot = output.rfind('.');
  if (dot == std::string::npos) return {output, {}};
  auto form = output.substr(dot + 1);
  if (form == "txt") form = "text";
  if (output.ends_with(".vl.json")) form = "vega";
  if (output.ends_with(".trace.json")) form = "trace";
  return {form, output};
}

std::string error_text(const std::exception& error) {
  if (const auto* list = dynamic_cast<const ErrorList*>(&error); list != nullptr) {
    const auto& title = list->facts().message;
    auto text = fmt::format("mlsysim: error: {}\n", title.substr(0, title.find('\n')));
    for (const auto& problem : list->problems()) text += render(problem) + "\n";
    return text;
  }
  if (dynamic_cast<const Error*>(&error) != nullptr) return fmt::format("mlsysim: error: {}\n", error.what());
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return "mlsysim: error: there is not enough memory for this\n";  // the words of say_no_memory()
  return fmt::format("mlsysim: error: unexpected: {}; please report it with the command line\n",
                     error.what());
}

}  // namespace mlsysim::cli
