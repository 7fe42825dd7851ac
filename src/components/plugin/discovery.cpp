#include "detail/discovery.hpp"

#include "detail/elf.hpp"
#include "detail/services.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>

namespace mlsysim::plugin::detail {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr std::string_view kPrefix = "mlsysim-plugin-", kManifest = ".plugin.yaml";

bool is_library(std::string_view file) {
  return file.starts_with(kPrefix) && file.ends_with(".so") && file.size() > kPrefix.size() + 3;
}
bool is_manifest(std::string_view file) {
  return file.ends_with(kManifest) && file.size() > kManifest.size() && !file.starts_with(".");
}

Candidate of_manifest(const fs::path& file, const std::string& source) {
  Candidate c;
  c.record.manifest = file;
  c.record.source = source;
  const auto name = file.filename().string();
  c.record.name = name.substr(0, name.size() - kManifest.size());
  try {
    auto m = read_manifest(file);
    c.record.name = m.name;
    c.record.version = m.version;
    c.record.summary = m.summary;
    c.record.license = m.license;
    c.record.library = m.library;
    c.record.provides = m.registers;
    c.record.isolated = m.isolated;
    c.manifest = std::move(m);
  } catch (const std::exception& error) {
    c.record.state = PluginState::refused;
    c.record.failure = failure_of(error, "manifest");
  }
  return c;
}

Candidate of_library(const fs::path& file, const std::string& source) {
  Candidate c;
  c.record.library = file;
  c.record.source = source;
  auto name = file.stem().string();
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  c.record.name = name;
  return c;
}

void scan(const fs::path& folder, const std::string& source, std::vector<Candidate>& out) {
  std::error_code failed;
  std::vector<std::string> names;
  for (auto it = fs::directory_iterator(folder, failed); !failed && it != fs::directory_iterator();
       it.increment(failed))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  std::vector<fs::path> claimed;  // libraries that a manifest names
  for (const auto& name : names) {
    if (!is_manifest(name)) continue;
    out.push_back(of_manifest(folder / name, source));
    claimed.push_back(out.back().record.library);
  }
  for (const auto& name : names) {
    if (!is_library(name)) continue;
    const auto file = folder / name;
    if (std::find(claimed.begin(), claimed.end(), file) == claimed.end())
      out.push_back(of_library(file, source));
  }
}

void look_at(const fs::path& path, const std::string& source, bool named, std::vector<Candidate>& out) {
  std::error_code failed;
  const auto before = out.size();
  if (fs::is_directory(path, failed))
    scan(path, source, out);
  else if (is_manifest(path.filename().string()))
    out.push_back(of_manifest(path, source));
  else
    out.push_back(of_library(path, source));
  for (std::size_t i = before; i < out.size(); ++i) out[i].named = named;
}

std::vector<fs::path> install_folders() {
  std::vector<fs::path> out;
  const auto add = [&](const fs::path& code) {
    std::error_code failed;
    const auto real = fs::canonical(code, failed);
    if (failed) return;
    for (const char* relative :
         {"../lib/mlsysim/plugins", "../lib64/mlsysim/plugins", "mlsysim/plugins", "plugins"}) {
      const auto folder = (real.parent_path() / relative).lexically_normal();
      // A folder "plugins" belongs to a Python package; next to a program it could hold anything.
      if (std::string_view(relative) == "plugins" &&
          real.filename().string().find("_mlsysim") == std::string::npos)
        continue;
      if (fs::is_directory(folder, failed) && std::find(out.begin(), out.end(), folder) == out.end())
        out.push_back(folder);
    }
  };
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&install_folders), &info) != 0 && info.dli_fname != nullptr)
    add(info.dli_fname);
  add("/proc/self/exe");
  return out;
}

[[noreturn]] void fail_vetting(const Candidate& c, MlsStatus code, ErrorFacts facts) {
  facts.where = {c.record.library.generic_string()};
  fail(code, std::move(facts), c.record.name, "vet");
}

/// Users whose files may be run: the system's, the one who runs this, and the owner of this code itself.
bool trusted_owner(uid_t user) {
  static const uid_t own = [] {
    Dl_info info{};
    struct stat s {};
    const bool known = ::dladdr(reinterpret_cast<const void*>(&trusted_owner), &info) != 0 &&
                       info.dli_fname != nullptr &&
                       (::stat(info.dli_fname, &s) == 0 || ::stat("/proc/self/exe", &s) == 0);
    return known ? s.st_uid : 0;
  }();
  return user == 0 || user == ::geteuid() || user == own;
}

void check_owner_and_mode(const Candidate& c, const std::string& path, const struct stat& s) {
  if (!trusted_owner(s.st_uid))
    fail_vetting(c, MLS_PERMISSION_DENIED,
                 {.id = "mlsysim.plugin.124",
                  .message = fmt::format("'{}' belongs to another user", path),
                  .key = path,
                  .found = fmt::format("user {}", s.st_uid),
                  .expected = fmt::format("user {} or the system", ::geteuid()),
                  .hint = "copy it to a folder of your own, or --allow-insecure-plugins"});
  // In a folder with the sticky bit only the owner may replace a file. The mode of a link says nothing.
  if (S_ISLNK(s.st_mode) || (s.st_mode & S_IWOTH) == 0 || (S_ISDIR(s.st_mode) && (s.st_mode & S_ISVTX) != 0))
    return;
  fail_vetting(c, MLS_PERMISSION_DENIED,
               {.id = "mlsysim.plugin.071",
                .message = fmt::format("everybody can write to '{}'", path),
                .key = path,
                .found = fmt::format("mode {:04o}", s.st_mode & 07777U),
                .expected = "a mode without write permission for others",
                .hint = fmt::format("chmod o-w '{}', or --allow-insecure-plugins", path)});
}

/// Checks a file, every folder above it, and the same of every link on the way: whoever may write to one of
/// them chooses the file.
void check_path(const Candidate& c, const fs::path& file, int links = 0) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  std::error_code failed;
  fs::path at;
  for (const auto& part : fs::absolute(file, failed).lexically_normal()) {
    at = at.empty() ? part : at / part;
    struct stat s {};
    if (::lstat(at.c_str(), &s) != 0) return;  // what is not there is refused by whoever opens it
    check_owner_and_mode(c, at.generic_string(), s);
    if (!S_ISLNK(s.st_mode) || links >= kMostLinks) continue;
    const auto target = fs::read_symlink(at, failed);
    check_path(c, target.is_absolute() ? target : at.parent_path() / target, links + 1);
  }
}

}  // namespace

bool is_secure() { return files::secure(); }

std::vector<Candidate> find_candidates(const HostOptions& options) {
  std::vector<Candidate> out;
  for (const auto& path : options.paths) look_at(path, "named", true, out);
  const bool open = !is_secure();
  if (open && options.environment == Look::yes) {
    const auto value = variable("MLSYSIM_PLUGIN_PATH");
    for (std::string_view rest = value; !rest.empty();) {
      const auto end = std::min(rest.find(':'), rest.size());
      if (end > 0) look_at(std::string(rest.substr(0, end)), "MLSYSIM_PLUGIN_PATH", false, out);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (open && options.project == Look::yes) scan(".mlsysim/plugins", "project", out);
  if (open && options.user == Look::yes) {
    const auto data = variable("XDG_DATA_HOME"), home = variable("HOME");
    if (!data.empty())
      scan(fs::path(data) / "mlsysim/plugins", "user", out);
    else if (!home.empty())
      scan(fs::path(home) / ".local/share/mlsysim/plugins", "user", out);
  }
  if (options.install == Look::yes)
    for (const auto& folder : install_folders()) scan(folder, "install", out);
  return out;
}

void refuse(const PluginRecord& record, std::string key) {
  const PluginFailure& f = *record.failure;
  fail(f.code, {.id = "mlsysim.plugin.072", .message = f.message, .key = std::move(key), .hint = f.hint},
       record.name, f.stage);
}

Candidate candidate_at(const fs::path& path) {
  std::vector<Candidate> found;
  look_at(path, "named", true, found);
  if (found.size() == 1) {
    if (found[0].record.failure) refuse(found[0].record, path.generic_string());
    return std::move(found[0]);
  }
  fail(MLS_NOT_FOUND,
       {.id = "mlsysim.plugin.073",
        .message = fmt::format("'{}' does not name one plugin", path.generic_string()),
        .key = path.generic_string(),
        .found = fmt::format("a folder with {} plugins", found.size()),
        .expected = "a library, a manifest, or a folder with one plugin"},
       path.generic_string(), "find");
}

std::optional<std::set<std::string>> allowed_names(const HostOptions& options) {
  const auto text = options.allowed ? *options.allowed : variable("MLSYSIM_PLUGINS");
  if (!options.allowed && std::getenv("MLSYSIM_PLUGINS") == nullptr) return std::nullopt;
  std::set<std::string> names;
  if (text == "none") return names;
  if (text.empty() || text == "all") return std::nullopt;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(',', at), text.size());
    if (end > at) names.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

void vet(const Candidate& c, const HostOptions& options) {
  const auto& library = c.record.library;
  for (const auto& file : c.manifest ? c.manifest->zoo : std::vector<fs::path>{}) {
    const auto text = read_file(file, 16ULL << 20);
    // Entries beside a library may use units that only it registers.
    if (library.empty()) (void)load_text(text, file.generic_string(), standard_zoo());
  }
  if (library.empty()) return;
  if (options.insecure == Look::no) {
    check_path(c, library);
    if (!c.record.manifest.empty()) check_path(c, c.record.manifest);
  }
  const auto elf = read_elf(library);
  if (!elf.fault.empty())
    fail_vetting(c, MLS_FAILED_PRECONDITION,
                 {.id = "mlsysim.plugin.074",
                  .message = fmt::format("'{}' is no usable library", library.generic_string()),
                  .key = library.generic_string(),
                  .found = elf.fault,
                  .expected = "a complete shared library for this machine",
                  .hint = elf.hint});
  if (!elf.exports(MLS_ENTRY_SYMBOL))
    fail_vetting(c, MLS_FAILED_PRECONDITION,
                 {.id = "mlsysim.plugin.075",
                  .message = fmt::format("'{}' is no plugin", library.generic_string()),
                  .key = MLS_ENTRY_SYMBOL,
                  .found = "a library without the symbol " MLS_ENTRY_SYMBOL,
                  .expected = "a library that exports it",
                  .hint = "export it with MLS_EXPORT; nm -gD shows what is exported"});
  if (!c.manifest || c.manifest->sha256.empty()) return;
  const auto digest = sha256(read_file(library, 1ULL << 30));
  if (digest != c.manifest->sha256)
    fail_vetting(
        c, MLS_DATA_LOSS,
        {.id = "mlsysim.plugin.076",
         .message = fmt::format("'{}' is not the file that its manifest means", library.generic_string()),
         .key = "sha256",
         .found = digest,
         .expected = c.manifest->sha256,
         .hint = "copy the plugin again, or update the manifest"});
}

PluginFailure failure_of(const std::exception& error, std::string stage) {
  PluginFailure out{std::move(stage), MLS_INVALID_ARGUMENT, error.what(), {}};
  if (const auto* fault = dynamic_cast<const PluginFault*>(&error)) {
    out.code = fault->code();
    if (!fault->call().empty()) out.stage = fault->call();
  }
  if (const auto* list = dynamic_cast<const ErrorList*>(&error)) {
    out.message = list->facts().message;  // every problem with its advice
    if (!list->problems().empty()) {
      auto first = list->problems().front();
      first.excerpt.clear();
      first.where = {};
      out.first_problem = render(first);
    }
  } else if (const auto* known = dynamic_cast<const Error*>(&error)) {
    auto facts = known->facts();
    out.hint = facts.hint;
    facts.hint.clear();
    facts.id.clear();
    out.message = render(facts);
  }
  return out;
}

bool is_newer(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view& s) {
    std::uint64_t n = 0;
    std::size_t i = 0;
    for (; i < s.size() && s[i] >= '0' && s[i] <= '9'; ++i)
      n = n * 10 + static_cast<std::uint64_t>(s[i] - '0');
    s.remove_prefix(i);
    return n;
  };
  const auto digit = [](std::string_view s) { return !s.empty() && s[0] >= '0' && s[0] <= '9'; };
  while (!a.empty() && !b.empty()) {
    if (digit(a) && digit(b)) {
      const auto x = number(a), y = number(b);
      if (x != y) return x > y;
    } else {
      if (a[0] != b[0]) return a[0] > b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return b.empty() && digit(a.starts_with('.') ? a.substr(1) : a);
}

}  // namespace mlsysim::plugin::detail
