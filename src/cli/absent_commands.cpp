// The answer of a command whose component is not built.

#include "absent/absent.hpp"

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <cctype>

namespace mlsysim::cli {

void refuse_absent(std::string_view what, std::string_view component) {
  std::string option = "MLSYSIM_WITH_";
  for (const char c : component) option += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  throw InputError({.id = "mlsysim.cli.187",
                    .message = fmt::format("{} belongs to the component '{}', which this build does not have",
                                           what, component),
                    .key = std::string(what),
                    .found = "a build without it",
                    .expected = fmt::format("a build with {}", option),
                    .hint = fmt::format(
                        "cmake -D {}=ON and build again, or install a package with all components", option)});
}

void Program::absent_command(const char* name, const char* component) {
  auto* sub = command(app_, name, "", "", [name, component]() -> Answer { refuse_absent(name, component); });
  sub->group("")->allow_extras()->fallthrough(false);
}

}  // namespace mlsysim::cli
