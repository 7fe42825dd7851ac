#include "commands_plugin.hpp"
#include "cli/output.hpp"

#include <mlsysim/plugin/host.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace mlsysim::cli {
namespace {

using Json = nlohmann::ordered_json;

namespace fs = std::filesystem;

PluginRequest& request() {
  static PluginRequest r;
  return r;
}

std::string provides_text(const plugin::PluginRecord& r) {
  std::string out;
  for (const auto& [kind, name] : r.provides)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", kind, name);
  return out;
}

std::string place_of(const plugin::PluginRecord& r) {
  return (r.library.empty() ? r.manifest : r.library).generic_string();
}

std::string why(const plugin::PluginRecord& r) {
  if (r.failure) {
    const auto title = r.failure->message.substr(0, r.failure->message.find('\n'));
    return fmt::format("{}: {}{}{}", r.failure->stage, title, r.failure->first_problem.empty() ? "" : ": ",
                       r.failure->first_problem);
  }
  return r.note;
}

Json json_of(const plugin::PluginRecord& r) {
  Json j{{"name", r.name},
         {"version", r.version},
         {"state", std::string(plugin::name_of(r.state))},
         {"source", r.source},
         {"library", r.library.generic_string()},
         {"manifest", r.manifest.generic_string()},
         {"summary", r.summary},
         {"license", r.license},
         {"isolated", r.isolated},
         {"registers", Json::array()},
         {"note", r.note}};
  for (const auto& [kind, name] : r.provides) j["registers"].push_back({{"kind", kind}, {"name", name}});
  if (r.failure)
    j["failure"] = {{"path", place_of(r)},
                    {"stage", r.failure->stage},
                    {"code", std::string(plugin::status_name(r.failure->code))},
                    {"message", r.failure->message},
                    {"hint", r.failure->hint}};
  return j;
}

Json json_of(const plugin::OwnedValue& v) {
  switch (v.kind) {
    case MLS_NUMBER:
      return v.text.empty() ? Json(v.number) : Json{{"value", v.number}, {"unit", v.text}};
    case MLS_FLAG:
      return v.flag;
    case MLS_STRING:
      return v.text;
    default:
      return nullptr;
  }
}

std::string text_of(const plugin::OwnedValue& v) {
  const auto j = json_of(v);
  return j.is_string()   ? j.get<std::string>()
         : j.is_object() ? fmt::format("{} {}", v.number, v.text)
                         : detail::json_text(j);
}

/// Whether --isolated names it; a plugin that is named must load.
bool asked_for(const std::string& name) {
  return std::find(request().isolated.begin(), request().isolated.end(), name) != request().isolated.end();
}

/// The plugin of a name or path, loaded.
std::string loaded(const std::string& name) { return plugins().load(name); }

const plugin::PluginRecord& record_of(const std::vector<plugin::PluginRecord>& all, const std::string& name) {
  for (const auto& r : all)
    if (r.name == name && r.state == plugin::PluginState::initialised) return r;
  for (const auto& r : all)
    if (r.name == name) return r;
  std::vector<std::string> names;
  for (const auto& r : all) names.push_back(r.name);
  throw LookupError(unknown_name("mlsysim.cli.090", fmt::format("there is no plugin '{}'", name), name, names,
                                 "a name of mlsysim plugin list"));
}

Json fields_json(const std::vector<plugin::FieldDescription>& fields) {
  Json out = Json::array();
  for (const auto& f : fields)
    out.push_back({{"name", f.name},
                   {"unit", f.unit},
                   {"object_type", f.object_type},
                   {"meaning", f.meaning},
                   {"optional", f.has(MLS_FIELD_OPTIONAL)}});
  return out;
}

/// A device of the zoo as JSON: memory spaces, links, peaks, and the kind of source of its values.
Json device_json(const std::string& name) {
  Json j{{"name", name}};
  const auto* h = standard_zoo().find<HardwareNode>(name);
  if (h == nullptr) return j;
  const auto text = [](const auto& q) { return q ? Json(pretty(AnyQuantity(*q))) : Json(nullptr); };
  j["category"] = h->category;
  j["figures"] =
      h->entry == nullptr ? Json(nullptr) : Json(std::string(mlsysim::name_of(h->entry->source.kind)));
  j["memory_spaces"] = Json::array({{{"type", h->memory.type},
                                     {"capacity", text(h->memory.capacity)},
                                     {"bandwidth", text(h->memory.bandwidth)}}});
  if (const auto& second = h->memory.second_tier; second.capacity)
    j["memory_spaces"].push_back(
        {{"type", second.type}, {"capacity", text(second.capacity)}, {"bandwidth", text(second.bandwidth)}});
  j["links"] = Json::array();
  for (const auto* link : {&h->host_link, &h->device_link})
    if (link->bandwidth) j["links"].push_back({{"name", link->name}, {"bandwidth", text(link->bandwidth)}});
  j["peaks"] = Json::object();
  for (std::size_t p = 0; p < kPrecisions; ++p)
    if (const auto& rate = h->compute.dense.slots[p])
      j["peaks"][std::string(mlsysim::name_of(static_cast<Precision>(p)))] = pretty(AnyQuantity(*rate));
  return j;
}

}  // namespace

void set_plugin_request(PluginRequest r) {
  for (const auto& path : r.paths)
    if (path.empty())
      throw InputError({.id = "mlsysim.cli.107",
                        .message = "a plugin has no path",
                        .key = "--plugin",
                        .found = "''",
                        .expected = "a library, a manifest or a folder",
                        .hint = "leave it out, or name one"});
  request() = std::move(r);
}

bool must_load_plugins() {
  const auto& r = request();
  return r.strict || !r.paths.empty() || !r.isolated.empty();
}
bool finds_plugins() {
  plugins().discover();
  return !plugins().records().empty();
}

plugin::PluginHost& plugins() {
  keep_answer_apart();
  static auto& host = *new plugin::PluginHost([] {
    plugin::name_crashes();
    plugin::HostOptions options;
    for (const auto& path : request().paths) options.paths.emplace_back(path);
    if (request().insecure) options.insecure = plugin::Look::yes;
    if (request().project) options.project = plugin::Look::yes;
    if (request().isolate) options.isolation = plugin::Isolation::always;
    options.isolated = request().isolated;
    if (request().none) options.allowed = "none";
    return options;
  }());
  return host;
}

Answer load_plugins() {
  Answer out;
  const auto report = plugins().load_all();
  for (const auto& name : request().isolated)
    (void)record_of(plugins().records(), name);  // one that is not there is an error
  for (const auto& r : plugins().records())
    if (r.state == plugin::PluginState::initialised && !r.note.empty())
      out.diagnostics += fmt::format("mlsysim: warning: plugin '{}': {}\n", r.name, r.note);
  for (const auto& r : report.failed) {
    if (r.source == "named" || asked_for(r.name))
      throw PluginError({.id = "mlsysim.cli.091",
                         .message = fmt::format("the plugin '{}' cannot be used", r.name),
                         .key = r.name,
                         .found = r.failure->message,
                         .expected = "a plugin that loads",
                         .hint = r.failure->hint});
    out.diagnostics += fmt::format("mlsysim: warning: plugin '{}' is left out: {}\n", r.name, why(r));
  }
  if (!report.failed.empty() && request().strict) {
    out.diagnostics +=
        "mlsysim: error: --strict-plugins: a plugin failed; mlsysim plugin list shows all of them\n";
    out.exit = Exit::assertion_failed;
  }
  return out;
}

std::vector<Callback*> plugin_callbacks() { return plugins().callbacks(); }

Answer plugin_list(const RenderOptions& options) {
  auto& host = plugins();
  host.inspect();
  const auto records = host.records();
  Answer out;
  std::size_t failed = 0;
  for (const auto& r : records) failed += r.failure ? 1 : 0;
  if (options.format == OutputFormat::json) {
    Json all = Json::array();
    for (const auto& r : records) all.push_back(json_of(r));
    out.payload = detail::json_document(Json({{"schema", "mlsysim/plugins@1"}, {"plugins", all}}));
  } else {
    Table t{.schema = "mlsysim/table@1",
            .title = "plugins",
            .columns = {{"name"}, {"version"}, {"state"}, {"source"}, {"registers"}, {"why"}}};
    for (const auto& r : records)
      t.rows.push_back({printable(r.name), printable(r.version), plugin::name_of(r.state), r.source,
                        printable(provides_text(r)), printable(why(r))});
    t.footer = records.empty() ? "no plugins; put them into ~/.local/share/mlsysim/plugins or name folders "
                                 "in MLSYSIM_PLUGIN_PATH"
                               : "";
    out.payload = render(t, options);
  }
  if (failed > 0 && request().strict) out.exit = Exit::assertion_failed;
  return out;
}

Answer plugin_show(const std::string& name, const RenderOptions& options) {
  const auto known = loaded(name);
  const auto records = plugins().records();
  const auto& r = record_of(records, known);
  const auto d = plugins().description(known);
  const auto values = plugins().options_of(known);
  struct Owned {
    std::string resolver;
    plugin::PluginHost::Availability now;
  };
  std::vector<Owned> owned;
  for (const auto& resolver : d.resolvers)
    if (resolver.ownership != plugin::Ownership::shared)
      owned.push_back({resolver.name, plugins().can_create(resolver.name)});
  if (options.format == OutputFormat::json) {
    auto j = json_of(r);
    j["schema"] = "mlsysim/plugin-show@1";
    j["abi"] = {{"major", d.abi_major}, {"minor", d.abi_minor}, {"needs_host_minor", d.needs_host_minor}};
    j["options"] = Json::array();
    for (const auto& v : values)
      j["options"].push_back(
          {{"resolver", v.resolver}, {"option", v.option}, {"value", v.value}, {"origin", v.origin}});
    j["exclusive"] = Json::array();
    for (const auto& o : owned)
      j["exclusive"].push_back({{"resolver", o.resolver},
                                {"ownership", std::string(name_of(o.now.ownership))},
                                {"resource", o.now.resource},
                                {"held", o.now.held ? Json(o.now.held->message) : Json(nullptr)}});
    return {detail::json_document(j)};
  }
  std::string out = fmt::format("{} {}{}{}\n", d.name, d.version, d.summary.empty() ? "" : ": ", d.summary);
  const auto fact = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) out += fmt::format("  {:<10} {}\n", label, text);
  };
  fact("note", r.note);
  fact("library", r.library.generic_string());
  fact("manifest", r.manifest.generic_string());
  fact("source", r.source);
  fact("state", std::string(plugin::name_of(r.state)) + (r.isolated ? ", in a process of its own" : ""));
  fact("license", d.license);
  if (d.abi_major != 0)
    fact("ABI", fmt::format("{}.{}, needs a host of {}.{} or newer", d.abi_major, d.abi_minor, d.abi_major,
                            d.needs_host_minor));
  for (const auto& [kind, what] : d.provides()) fact(kind, what);
  for (const auto& o : owned)
    fact(name_of(o.now.ownership),
         fmt::format("{}: {} {}", o.resolver, o.now.resource,
                     o.now.held ? "is not available: " + o.now.held->message : "is free"));
  for (const auto& v : values)
    fact("option", fmt::format("{}: {} = {} ({})", v.resolver, v.option, v.value, v.origin));
  return {printable(out)};
}

Answer plugin_caps(const std::string& name, const RenderOptions& options) {
  const auto known = loaded(name);
  const auto d = plugins().description(known);
  Json j{{"schema", "mlsysim/plugin-caps@1"},
         {"plugin", d.name},
         {"mlsysim.abi", fmt::format("{}.{}", d.abi_major, d.abi_minor)},
         {"plugin.version", d.version},
         {"plugin.license", d.license},
         {"threads", d.threads == MLS_THREAD_SAFE        ? "safe"
                     : d.threads == MLS_THREAD_MAIN_ONLY ? "main thread only"
                                                         : "serial"},
         {"fork_safe", (d.flags & MLS_PLUGIN_FORK_SAFE) != 0},
         {"unloadable", (d.flags & MLS_PLUGIN_UNLOADABLE) != 0},
         {"attributes", Json::object()},
         {"resolvers", Json::array()}};
  for (const auto& [key, value] : d.attributes) j["attributes"][key] = json_of(value);
  j["backends"] = Json::array();
  for (const auto& b : d.backends) {
    Json devices = Json::array();
    for (const auto& device : b.devices) devices.push_back(device_json(device));
    j["backends"].push_back(
        {{"name", b.name}, {"devices", devices}, {"max_effort", b.max_effort}, {"predict", b.predict}});
  }
  j["converters"] = Json::array();
  for (const auto& c : d.converters)
    j["converters"].push_back({{"name", c.name},
                               {"direction", c.direction == MLS_IMPORTER ? "import" : "export"},
                               {"format", c.format}});
  for (const auto& r : d.resolvers)
    j["resolvers"].push_back(
        {{"name", r.name},
         {"tier", std::string(name_of(r.tier))},
         {"inputs", fields_json(r.inputs)},
         {"outputs", fields_json(r.outputs)},
         {"options", fields_json(r.options)},
         {"ownership", std::string(name_of(r.ownership))},
         {"resource", r.ownership == plugin::Ownership::shared ? std::string() : r.resource}});
  if (options.format == OutputFormat::json) return {detail::json_document(j)};
  std::string out = fmt::format("{} {}\n", d.name, d.version);
  for (const auto* key : {"mlsysim.abi", "plugin.license", "threads"})
    out += fmt::format("  {:<16} {}\n", key, j[key].get<std::string>());
  for (const auto* key : {"fork_safe", "unloadable"})
    out += fmt::format("  {:<16} {}\n", key, j[key].get<bool>() ? "yes" : "no");
  for (const auto& [key, value] : d.attributes) out += fmt::format("  {:<16} {}\n", key, text_of(value));
  for (const auto& [kind, what] : d.provides()) out += fmt::format("  {:<16} {}\n", kind, what);
  return {printable(out)};
}

Answer plugin_reload(const std::string& name, const RenderOptions& options) {
  const auto known = loaded(name);
  const auto r = plugins().reload(known);
  if (options.format == OutputFormat::json)
    return {detail::json_document(Json({{"schema", "mlsysim/plugin-reload@1"},
                                        {"plugin", known},
                                        {"old_version", r.old_version},
                                        {"new_version", r.new_version},
                                        {"same_interface", r.same_interface},
                                        {"old_code", r.old_code}}))};
  return {fmt::format(
      "{}: {} -> {}; {}{}\n", known, r.old_version, r.new_version, r.old_code,
      r.same_interface ? "" : "; its interface changed, so pipelines that exist keep the old code")};
}

Answer plugin_check(const std::vector<std::string>& words) {
  std::error_code failed;
  const auto beside = fs::read_symlink("/proc/self/exe", failed).parent_path() / "mlsysim-plugin-check";
  std::vector<std::string> all{beside.string()};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (auto& w : all) argv.push_back(w.data());
  argv.push_back(nullptr);
  (void)::dup2(answer_stream(), STDOUT_FILENO);
  ::execv(argv[0], argv.data());
  throw PluginError({.id = "mlsysim.cli.092",
                     .message = "the conformance kit cannot be started",
                     .key = beside.string(),
                     .found = "no such program",
                     .expected = "mlsysim-plugin-check beside mlsysim",
                     .hint = "install the whole package"});
}

}  // namespace mlsysim::cli
