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
    if (high)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
      out += fmt::format("\\x{:02x}", c);
    else
      out += text[i];
  }
  return out;
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
