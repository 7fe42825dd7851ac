#include "commands.hpp"

#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/unit_registry.hpp>
#include <mlsysim/zoo/schema.hpp>

#include <fmt/format.h>

namespace mlsysim::cli {
namespace {

template <class... T> std::vector<std::string> names() {
  std::vector<std::string> out;
  (
      [&] {
        for (auto& name : zoo().names<T>()) out.push_back(std::move(name));
      }(),
      ...);
  return out;
}

constexpr std::string_view kBash =
    R"(# mlsysim completion for bash; use it with: source <(mlsysim completion bash)
_mlsysim() {
  local IFS=$'\n'
  COMPREPLY=($(mlsysim __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _mlsysim mlsysim
)";

constexpr std::string_view kZsh = R"(#compdef mlsysim
# mlsysim completion for zsh; use it with: source <(mlsysim completion zsh)
_mlsysim() {
  local -a found
  found=("${(@f)$(mlsysim __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _mlsysim mlsysim
)";

constexpr std::string_view kFish =
    R"(# mlsysim completion for fish; use it with: mlsysim completion fish | source
complete -c mlsysim -a '(mlsysim __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
)";

}  // namespace

std::vector<std::string> candidates(Place place) {
  switch (place) {
    case Place::none:
    case Place::metric:
      break;
    case Place::model:
      return names<Workload>();
    case Place::machine:
      return names<HardwareNode, Node, Fleet, Pod>();
    case Place::device:
      return names<HardwareNode>();
    case Place::engine:
      return names<ServingEngine>();
    case Place::grid:
      return names<GridProfile>();
    case Place::datacenter:
      return names<Datacenter>();
    case Place::entry: {
      std::vector<std::string> out;
      for (const auto* e : zoo().entries()) out.push_back(e->name);
      return out;
    }
    case Place::kind:
      return zoo_kinds();
    case Place::resolver:
      return ResolverRegistry::standard().names();
    case Place::schema_type: {
      auto out = zoo_kinds();
      out.insert(out.begin(), {"plan", "event", "observability", "explain_document"});
      return out;
    }
    case Place::shell:
      return {"bash", "zsh", "fish"};
    case Place::unit:
      return UnitRegistry::standard().spellings();
  }
  return {};
}

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh);
  if (shell == "fish") return std::string(kFish);
  throw LookupError({.id = "mlsysim.cli.030",
                     .message = fmt::format("there is no completion for '{}'", shell),
                     .key = std::string(shell),
                     .found = fmt::format("'{}'", shell),
                     .expected = "bash, zsh or fish"});
}

}  // namespace mlsysim::cli
