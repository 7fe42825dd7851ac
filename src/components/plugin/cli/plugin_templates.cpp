#include "commands_plugin.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/folders.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace mlsysim::cli {
namespace {

namespace fs = std::filesystem;

/// A file of a new plugin; @NAME@, @SPACE@ and @UPPER@ are replaced.
struct TemplateFile {
  std::string_view path, text;
};

constexpr std::string_view kCMake = R"(cmake_minimum_required(VERSION 3.25)
project(@SPACE@ LANGUAGES @LANG@)
find_package(mlsysim 0.1 CONFIG REQUIRED)
mlsysim_add_plugin(@NAME@ SOURCES @SPACE@.@EXT@ MANIFEST @NAME@.plugin.yaml)
)";

constexpr std::string_view kManifest = R"(schema: mlsysim/plugin@1
name: @NAME@
version: 0.1.0
summary: Energy of one pass at the power limit
license: Apache-2.0
library: mlsysim-plugin-@NAME@.so
abi: {major: 1, min_minor: 0}
registers: [model @SPACE@/PassEnergy]
)";

constexpr std::string_view kReadme = R"(# @NAME@

```sh
cmake -B build && cmake --build build       # CMAKE_PREFIX_PATH names mlsysim where it is not in /usr
mlsysim plugin check build/mlsysim-plugin-@NAME@.so --manifest build/@NAME@.plugin.yaml
export MLSYSIM_PLUGIN_PATH=$PWD/build
mlsysim plugin list
mlsysim pipeline run @SPACE@/PassEnergy hardware=H100 duration='20 ms'
```
)";

constexpr std::string_view kC =
    R"(/* Energy of one pass at the power limit of the device: energy = power.tdp * duration. */
#include <mlsysim/plugin/mlsysim_plugin.h>

static const MlsField inputs[] = {
    {.struct_size = sizeof(MlsField), .kind = MLS_FIELD_OBJECT, .name = MLS_TEXT("hardware"),
     .meaning = MLS_TEXT("the device"), .object_type = MLS_TEXT("hardware")},
    {.struct_size = sizeof(MlsField), .kind = MLS_FIELD_QUANTITY, .flags = MLS_FIELD_BOUNDED | MLS_FIELD_PRIVATE,
     .name = MLS_TEXT("duration"), .meaning = MLS_TEXT("time of the pass"), .unit = MLS_TEXT("s"),
     .display = MLS_TEXT("ms"), .low = 0, .high = 1e9}};
static const MlsField outputs[] = {
    {.struct_size = sizeof(MlsField), .kind = MLS_FIELD_QUANTITY, .flags = MLS_FIELD_BOUNDED | MLS_FIELD_PRIVATE,
     .name = MLS_TEXT("pass_energy"), .meaning = MLS_TEXT("energy drawn"), .unit = MLS_TEXT("J"), .low = 0, .high = 1e18}};

static MlsString text(const char* s) {
  MlsString out = {s, 0};
  while (s[out.size] != 0) ++out.size;
  return out;
}

static MlsError* solve(MlsSolveArgs* args) {
  const MlsHostApi* host = args->host;
  if (args->struct_size < MLS_SOLVE_ARGS_SIZE_1_0)
    return host->error_create(host, MLS_INVALID_ARGUMENT, text("MlsSolveArgs is too small"));
  MlsValue tdp;
  MlsError* error = host->object_field(host, args->inputs[0].object, text("power.tdp"), &tdp); /* in W */
  if (error != NULL) return error;
  if (tdp.kind != MLS_NUMBER)
    return host->error_create(host, MLS_FAILED_PRECONDITION, text("the device has no TDP; choose one that has"));
  args->outputs[0].kind = MLS_NUMBER;
  args->outputs[0].number = tdp.number * args->inputs[1].number;
  return NULL;
}

static const MlsResolver pass_energy = {.struct_size = sizeof(MlsResolver), .tier = MLS_TIER_MODEL,
    .flags = MLS_RESOLVER_DETERMINISTIC, .name = MLS_TEXT("@SPACE@/PassEnergy"),
    .summary = MLS_TEXT("Energy of one pass at the power limit"), .version = MLS_TEXT("0.1.0"),
    .law = MLS_TEXT("pass_energy = power.tdp * duration"), .inputs = inputs, .input_count = 2,
    .outputs = outputs, .output_count = 1, .solve = solve};

static MlsError* register_all(const MlsHostApi* host, MlsRegistration* registration) {
  return host->add_resolver(host, registration, &pass_energy);
}

MLS_EXPORT const MlsPluginApi* mlsysim_get_plugin_api(void) {
  static const MlsPluginApi api = {.struct_size = sizeof(MlsPluginApi), .abi_major = MLS_ABI_MAJOR,
      .abi_minor = MLS_ABI_MINOR, .flags = MLS_PLUGIN_UNLOADABLE | MLS_PLUGIN_FORK_SAFE, .threads = MLS_THREAD_SAFE,
      .name = MLS_TEXT("@NAME@"), .version = MLS_TEXT("0.1.0"),
      .summary = MLS_TEXT("Energy of one pass at the power limit"), .license = MLS_TEXT("Apache-2.0"),
      .register_all = register_all};
  return &api;
}
)";

constexpr std::string_view kCpp = R"(// Energy of one pass at the power limit of the device.
#include <mlsysim/plugin/mlsysim_plugin.hpp>
#include <mlsysim/resolver_api/contract.hpp>

namespace {

using namespace mlsysim;

struct PassEnergy : Model<PassEnergy> {
  static constexpr std::string_view about = "Energy of one pass at the power limit";
  static constexpr std::string_view law = "pass_energy = power.tdp * duration";
  struct Inputs {
    const HardwareNode* hardware = nullptr;
    Time<> duration;
    static constexpr auto fields() {
      return rows(field(&Inputs::hardware, key::hardware),
                  field(&Inputs::duration, "duration", "ms", "time of the pass").non_negative());
    }
  };
  struct Result {
    Energy<> pass_energy;
    static constexpr auto fields() { return rows(field(&Result::pass_energy, "pass_energy", "J", "energy drawn").non_negative()); }
  };
  Result solve(const Inputs& in) const {
    if (!in.hardware->power.tdp)
      throw InputError({.id = "@SPACE@.001", .message = in.hardware->name + " has no TDP specified", .key = "power.tdp",
                        .found = "nothing", .expected = "a power limit", .hint = "choose a device that has one"});
    return {*in.hardware->power.tdp * in.duration};
  }
};

}  // namespace

MLSYSIM_PLUGIN(({.name = "@NAME@", .space = "@SPACE@", .version = "0.1.0",
                 .summary = "Energy of one pass at the power limit", .license = "Apache-2.0",
                 .threads = MLS_THREAD_SAFE, .flags = MLS_PLUGIN_UNLOADABLE | MLS_PLUGIN_FORK_SAFE})) {
  plugin.add<PassEnergy>();
}
)";

constexpr std::string_view kPython = R"("""Energy of one pass at the power limit of the device."""
from mlsysim.core.results import SolverResult
from mlsysim.core.solver import BaseModel
from mlsysim.core.types import Quantity
from mlsysim.hardware.types import HardwareNode


class PassEnergyResult(SolverResult):
    pass_energy: Quantity


class PassEnergy(BaseModel):
    """Energy of one pass at the power limit."""
    requires = ("hardware", "duration")
    produces = PassEnergyResult

    def solve(self, hardware: HardwareNode, duration: Quantity) -> PassEnergyResult:
        if hardware.tdp is None:
            raise ValueError(f"{hardware.name} has no TDP specified.")
        return PassEnergyResult(pass_energy=(hardware.tdp * duration).to("J"))
)";

constexpr std::string_view kPythonProject = R"([build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "@NAME@"
version = "0.1.0"
description = "Energy of one pass at the power limit"
# mlsysim comes from a wheel or a source tree, not from an index: its name there belongs to nobody.
dependencies = []

[project.entry-points."mlsysim.models"]
PassEnergy = "@SPACE@:PassEnergy"

[tool.setuptools]
py-modules = ["@SPACE@"]
)";

constexpr std::string_view kPythonReadme = R"(# @NAME@

```sh
pip install .                          # without an index: pip install --no-build-isolation --no-deps .
python3 -m mlsysim.plugins check @NAME@
python3 -c 'import mlsysim; print(mlsysim.plugins.list_plugins())'
```
)";

std::string filled(std::string_view text, const std::string& name, const std::string& space,
                   std::string_view ext, std::string_view lang) {
  std::string out(text);
  const auto replace = [&out](std::string_view what, std::string_view with) {
    for (std::size_t at = 0; (at = out.find(what, at)) != std::string::npos; at += with.size())
      out.replace(at, what.size(), with);
  };
  replace("@NAME@", name);
  replace("@SPACE@", space);
  replace("@EXT@", ext);
  replace("@LANG@", lang);
  return out;
}

}  // namespace

Answer plugin_new(const std::string& name, const std::string& language, const std::string& folder) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool usable = !name.empty() && name.size() <= 64 && letter(name[0]) && name != "mlsysim" &&
                      std::all_of(name.begin(), name.end(), [&](char c) {
                        return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
                      });
  // The name becomes that of a module or a file with code, so it is no word of the languages.
  static constexpr std::string_view words[] = {
      "False",   "None",     "True",   "and",      "as",      "assert",   "async",     "await",    "break",
      "case",    "catch",    "char",   "class",    "const",   "continue", "def",       "default",  "del",
      "delete",  "do",       "double", "elif",     "else",    "enum",     "except",    "export",   "extern",
      "finally", "float",    "for",    "friend",   "from",    "global",   "goto",      "if",       "import",
      "in",      "inline",   "int",    "is",       "lambda",  "long",     "namespace", "new",      "nonlocal",
      "not",     "operator", "or",     "pass",     "private", "public",   "raise",     "return",   "short",
      "signed",  "sizeof",   "static", "struct",   "switch",  "template", "this",      "throw",    "try",
      "typedef", "typename", "union",  "unsigned", "using",   "virtual",  "void",      "volatile", "while",
      "with",    "yield"};
  if (std::find(std::begin(words), std::end(words), name) != std::end(words))
    throw InputError({.id = "mlsysim.cli.108",
                      .message = "a plugin cannot have this name",
                      .key = "NAME",
                      .found = fmt::format("'{}', a word of the language", name),
                      .expected = "a name that may stand in a program",
                      .hint = fmt::format("e.g. my_{}", name)});
  if (!usable)
    throw InputError({.id = "mlsysim.cli.093",
                      .message = "a plugin cannot have this name",
                      .key = "NAME",
                      .found = fmt::format("'{}'", name),
                      .expected = "letters, digits, '_' and '-', first a letter",
                      .hint = "e.g. my_power"});
  std::string space = name;
  std::replace(space.begin(), space.end(), '-', '_');
  const fs::path top = folder.empty() ? fs::path(name) : fs::path(folder);
  std::error_code failed;
  if (fs::exists(top, failed) && !fs::is_empty(top, failed))
    throw InputError({.id = "mlsysim.cli.094",
                      .message = "the folder is not empty",
                      .key = "--folder",
                      .found = fmt::format("'{}'", top.generic_string()),
                      .expected = "a folder that does not exist yet",
                      .hint = "choose another with --folder"});
  std::vector<TemplateFile> files;
  const auto source = fmt::format("{}.{}", space, language == "python" ? "py" : language);
  const auto manifest = name + ".plugin.yaml";
  if (language == "python")
    files = {{source, kPython}, {"pyproject.toml", kPythonProject}, {"README.md", kPythonReadme}};
  else
    files = {{source, language == "c" ? kC : kCpp},
             {"CMakeLists.txt", kCMake},
             {manifest, kManifest},
             {"README.md", kReadme}};
  files::make_folders(top);
  Answer out;
  for (const auto& file : files) {
    const auto path = top / file.path;
    files::write(path, filled(file.text, name, space, language, language == "c" ? "C CXX" : "CXX"), {});
    out.payload += fmt::format("wrote {}\n", path.generic_string());
  }
  out.payload += fmt::format("next: see {}\n", (top / "README.md").generic_string());
  return out;
}

}  // namespace mlsysim::cli
