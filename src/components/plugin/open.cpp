#include "detail/discovery.hpp"
#include "detail/elf.hpp"
#include "detail/loaded.hpp"
#include "detail/notebook.hpp"

#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace mlsysim::plugin::detail {
namespace {

namespace fs = std::filesystem;

/// A copy of a file in memory, under a path of its own; closed when the library is open.
class MemoryCopy {
 public:
  explicit MemoryCopy(const fs::path& file) {
    const auto bytes = read_file(file, 1ULL << 30);
    descriptor_ = ::memfd_create(file.filename().c_str(), MFD_CLOEXEC);
    std::size_t done = 0;
    while (descriptor_ >= 0 && done < bytes.size()) {
      const auto n = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    if (done != bytes.size())
      fail(MLS_RESOURCE_EXHAUSTED, {.id = "mlsysim.plugin.080",
                                    .message = "a plugin cannot be copied",
                                    .key = file.generic_string(),
                                    .found = fmt::format("{} of {} bytes", done, bytes.size()),
                                    .expected = "memory for a copy"});
  }
  MemoryCopy(const MemoryCopy&) = delete;
  MemoryCopy& operator=(const MemoryCopy&) = delete;
  ~MemoryCopy() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  /// Numbers of descriptors come again, and dlopen takes a path that it knows for the library it has: the
  /// slashes of each path are a number of their own.
  [[nodiscard]] std::string path() const {
    static std::atomic<std::uint32_t> copies{0};
    std::string out = "/proc/self/fd";
    for (std::uint32_t n = copies++, bit = 0; bit < 32; ++bit) out += (n >> bit & 1U) != 0 ? "/." : "/";
    return out + fmt::format("/{}", descriptor_);
  }

 private:
  int descriptor_ = -1;
};

void compare(const Candidate& c, const PluginDescription& d) {
  const auto& m = *c.manifest;
  const auto differ = [&](const char* what, const std::string& manifest, const std::string& library) {
    fail(MLS_FAILED_PRECONDITION,
         {.id = "mlsysim.plugin.081",
          .message = fmt::format("the manifest and the library of '{}' disagree about the {}", m.name, what),
          .key = what,
          .found = fmt::format("'{}' in the library", library),
          .expected = fmt::format("'{}', as the manifest says", manifest),
          .hint = "update the manifest",
          .where = {m.file.generic_string()}},
         m.name, "register_all");
  };
  if (m.name != d.name) differ("name", m.name, d.name);
  if (m.version != d.version) differ("version", m.version, d.version);
  if (m.abi_major != 0 && (m.abi_major != d.abi_major || m.abi_min_minor != d.needs_host_minor))
    differ("ABI", fmt::format("{}, host >= {}.{}", m.abi_major, m.abi_major, m.abi_min_minor),
           fmt::format("{}, host >= {}.{}", d.abi_major, d.abi_major, d.needs_host_minor));
  if (!m.says_what_it_registers) return;
  auto listed = m.registers;
  auto given = d.provides();
  std::sort(listed.begin(), listed.end());
  std::sort(given.begin(), given.end());
  if (listed == given) return;
  const auto text = [](const auto& all) {
    std::string out;
    for (const auto& [kind, name] : all) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", kind, name);
    return out;
  };
  differ("things it registers", text(listed), text(given));
}

std::vector<std::string> options_of(const PluginDescription& plugin) {
  std::vector<std::string> known;
  for (const auto& r : plugin.resolvers)
    for (const auto& o : r.options)
      if (std::find(known.begin(), known.end(), o.name) == known.end()) known.push_back(o.name);
  return known;
}

/// The variable of an option; with an empty option what all variables of the plugin begin with.
std::string variable_of(const std::string& plugin, const std::string& option) {
  auto out = fmt::format("MLSYSIM_PLUGIN_{}_{}", plugin, option);
  for (auto& c : out)
    c = c == '-' || c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::string unknown_variables(const PluginDescription& plugin, const std::vector<std::string>& others) {
  if (is_secure()) return {};
  const auto begin = variable_of(plugin.name, "");
  std::vector<std::string> known;
  for (const auto& option : options_of(plugin)) known.push_back(variable_of(plugin.name, option));
  std::string out;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const std::string name(entry.substr(0, entry.find('=')));
    if (!name.starts_with(begin) || std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (std::any_of(others.begin(), others.end(), [&](const std::string& other) {
          const auto longer = variable_of(other, "");
          return longer.size() > begin.size() && name.starts_with(longer);
        }))
      continue;
    const auto near = did_you_mean(name, known);
    out += fmt::format(
        "{}the variable {} names no option of '{}'; expected {}{}", out.empty() ? "" : "; ", name,
        plugin.name,
        known.empty() ? "none: it has no options" : fmt::format("one of {}", fmt::join(known, ", ")),
        near.empty() ? "" : "; " + near);
  }
  return out;
}

std::vector<OptionSetting> settings_of(const PluginDescription& plugin,
                                       const std::optional<Manifest>& manifest) {
  const auto known = options_of(plugin);
  std::vector<OptionSetting> out;
  const auto put = [&](const std::string& name, const std::string& text, const std::string& origin) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail(MLS_INVALID_ARGUMENT,
           {.id = "mlsysim.plugin.082",
            .message = fmt::format("the plugin '{}' has no option '{}'", plugin.name, name),
            .key = name,
            .found = fmt::format("'{}' in {}", name, origin),
            .expected = known.empty() ? "no options" : fmt::format("one of {}", fmt::join(known, ", ")),
            .hint = did_you_mean(name, known)},
           plugin.name, "options");
    for (auto& s : out)
      if (s.name == name) {
        s = {name, text, origin};
        return;
      }
    out.push_back({name, text, origin});
  };
  if (manifest)
    for (const auto& [name, text] : manifest->config)
      put(name, text, "manifest " + manifest->file.generic_string());
  if (is_secure()) return out;  // what follows is of the user and of the environment
  const char *config = std::getenv("XDG_CONFIG_HOME"), *home = std::getenv("HOME");
  const fs::path file = config != nullptr && *config != 0 ? fs::path(config) / "mlsysim/plugins.yaml"
                        : home != nullptr                 ? fs::path(home) / ".config/mlsysim/plugins.yaml"
                                                          : fs::path();
  std::error_code failed;
  if (!file.empty() && fs::is_regular_file(file, failed)) {
    const auto document = YamlDocument::read(file);
    if (const auto* mine = document.root().find(plugin.name))
      for (const auto& [key, value] : mine->pairs) put(key.text, value.text, file.generic_string());
  }
  for (const auto& name : known) {
    const auto variable = variable_of(plugin.name, name);
    if (const char* value = std::getenv(variable.c_str())) put(name, value, "environment " + variable);
  }
  return out;
}

/// How this library ended a process before; empty where it did not. One that nobody has tried is tried in a
/// process of its own, where it can do no harm: nothing can be kept from code in this one.
static std::string ended_before(const std::string& path, const IsolationLimits& limits) {
  const NotebookPage page(path);
  if (page.file().empty() || page.harmless()) return {};
  if (auto known = page.ended(); !known.empty()) return known;
  try {
    (void)open_isolated(path, std::make_shared<LocalServices>(), {.timeout = limits.timeout, .memory = 0});
    page.note_harmless();
  } catch (const PluginFault& fault) {
    if (fault.code() == MLS_ABORTED || fault.code() == MLS_DEADLINE_EXCEEDED) {
      page.note_ended(fault.facts().found + " when it was opened");
      return NotebookPage(path).ended();
    }
    // Any other fault is reported when the library is opened for good.
  }
  return {};
}

Loaded open_candidate(Candidate candidate, const HostOptions& options,
                      const std::shared_ptr<LocalServices>& services, bool private_copy) {
  if (candidate.record.failure) refuse(candidate.record, candidate.record.name);
  Loaded out;
  auto& record = candidate.record;
  vet(candidate, options);
  if (!record.library.empty()) {
    record.state = PluginState::vetted;
    const auto path = record.library.generic_string();
    const auto named = [&](const std::string& name) {
      return std::find(options.isolated.begin(), options.isolated.end(), name) != options.isolated.end();
    };
    record.isolated =
        options.isolation == Isolation::always || named(record.name) ||
        (options.isolation == Isolation::as_asked && candidate.manifest && candidate.manifest->isolated);
    const bool asked_below = !candidate.manifest && !options.isolated.empty();  // that tries it as well
    if (!record.isolated && options.isolation == Isolation::as_asked && !private_copy)
      if (const auto ended = asked_below ? NotebookPage(path).ended() : ended_before(path, options.limits);
          !ended.empty()) {
        record.isolated = true;
        record.note = fmt::format("it ended a process before ({}), so it runs in one of its own", ended);
      }
    // Without a manifest only the library itself knows its name: it is asked in a process of its own.
    if (!record.isolated && !candidate.manifest && !options.isolated.empty()) {
      out.code = open_isolated(path, services, options.limits);
      record.isolated = named(out.code->description().name);
      if (!record.isolated) out.code.reset();
    }
    if (out.code == nullptr) {
      std::optional<MemoryCopy> copy;
      if (private_copy && !record.isolated) copy.emplace(record.library);
      out.code =
          record.isolated
              ? open_isolated(path, services, options.limits)
              : open_in_process(copy ? copy->path() : fs::absolute(record.library).string(), path, services);
    }
    out.description = out.code->description();
    if (candidate.manifest) compare(candidate, out.description);
  } else {
    const auto& m = *candidate.manifest;
    out.description.name = m.name;
    out.description.version = m.version;
    out.description.summary = m.summary;
    out.description.license = m.license;
  }
  auto& d = out.description;
  for (const auto& z : d.zoo) out.zoo.push_back({d.name, fmt::format("{}:{}", d.name, z.name), z.text});
  if (candidate.manifest)
    for (const auto& file : candidate.manifest->zoo) {
      out.zoo.push_back({d.name, file.generic_string(), read_file(file, 16ULL << 20)});
      d.zoo.push_back({file.filename().string(), {}});
    }
  out.limits = options.limits;
  out.settings = settings_of(d, candidate.manifest);
  record.name = d.name;
  record.version = d.version;
  record.summary = d.summary;
  record.license = d.license;
  record.provides = d.provides();
  record.state = PluginState::initialised;
  out.candidate = std::move(candidate);
  return out;
}

}  // namespace mlsysim::plugin::detail
