#include "kit.hpp"

#include "../../detail/plugin_resolver.hpp"

#include <mlsysim/zoo/detail/contribution.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace mlsysim::plugin::check {
namespace {

Result size_sane(const Subject& s) {
  const RawPlugin p(s);
  const auto size = p.table().struct_size;
  if (size < MLS_PLUGIN_API_SIZE_1_0)
    return fail(fmt::format("struct_size {} is below {}, that of version {}.0", size, MLS_PLUGIN_API_SIZE_1_0,
                            MLS_ABI_MAJOR));
  if (size > 65536 || size % alignof(MlsPluginApi) != 0)
    return fail(fmt::format("struct_size {} is no size of a table", size));
  return pass();
}

Result major_fits(const Subject& s) {
  const RawPlugin p(s);
  return p.table().abi_major == MLS_ABI_MAJOR
             ? pass()
             : fail(fmt::format("built for ABI {}, this is {}", p.table().abi_major, MLS_ABI_MAJOR));
}

Result minor_fits(const Subject& s) {
  const RawPlugin p(s);
  if (p.table().needs_host_minor > MLS_ABI_MINOR)
    return fail(fmt::format("needs a host of ABI {}.{} or newer, this is {}.{}", MLS_ABI_MAJOR,
                            p.table().needs_host_minor, MLS_ABI_MAJOR, MLS_ABI_MINOR));
  return p.table().needs_host_minor <= p.table().abi_minor
             ? pass()
             : fail("needs a newer host than the header it was built with");
}

Result slots(const Subject& s) {
  const RawPlugin p(s);
  return p.table().register_all == nullptr ? fail("register_all is null") : pass();
}

Result attributes(const Subject& s) {
  const RawPlugin p(s);
  const auto& t = p.table();
  if (t.attribute_count == 0) return pass();
  if (t.attributes == nullptr)
    return fail(fmt::format("a null pointer with the count {}", t.attribute_count));
  if (t.attribute_count > 1000) return fail(fmt::format("{} attributes", t.attribute_count));
  for (std::uint64_t i = 0; i < t.attribute_count; ++i) {
    if (detail::read_text(t.attributes[i].name, "name of an attribute").empty())
      return fail("an attribute without a name");
    (void)detail::read_text(t.attributes[i].value.text, "an attribute");
  }
  return pass();
}

Result names(const Subject& s) {
  const RawPlugin p(s);
  const auto name = detail::read_text(p.table().name, "name");
  if (!detail::is_name(name) || name == "mlsysim")
    return fail(fmt::format("the name '{}' cannot be used", name));
  return detail::read_text(p.table().version, "version").empty() ? fail("no version") : pass();
}

Result flags(const Subject& s) {
  const RawPlugin p(s);
  if (p.table().threads < MLS_THREAD_SERIAL || p.table().threads > MLS_THREAD_MAIN_ONLY)
    return fail(fmt::format("unknown thread mode {}", p.table().threads));
  return (p.table().flags & ~static_cast<std::uint32_t>(MLS_PLUGIN_FORK_SAFE | MLS_PLUGIN_UNLOADABLE)) == 0
             ? pass()
             : fail("unknown flags");
}

Result manifest_fits(const Subject& s) {
  if (!s.manifest) return skip("no manifest was given");
  RawPlugin p(s);
  const auto& m = *s.manifest;
  const auto name = detail::read_text(p.table().name, "name"),
             version = detail::read_text(p.table().version, "version");
  if (m.name != name)
    return fail(fmt::format("name: '{}' in the manifest, '{}' in the library", m.name, name));
  if (m.version != version)
    return fail(fmt::format("version: '{}' in the manifest, '{}' in the library", m.version, version));
  if (!m.sha256.empty() && detail::sha256(detail::read_file(s.library, 1 << 30)) != m.sha256)
    return fail("sha256: another file");
  if (!m.says_what_it_registers) return pass();
  (void)p.initialize();
  if (!p.register_all().empty()) return skip("it does not register");
  auto listed = m.registers, given = p.description().provides();
  std::sort(listed.begin(), listed.end());
  std::sort(given.begin(), given.end());
  return listed == given ? pass()
                         : fail(fmt::format("registers: {} in the manifest, {} in the library", listed.size(),
                                            given.size()));
}

Result features(const Subject& s) {
  RawPlugin p(s);
  if (p.table().has_feature == nullptr) return pass();
  (void)p.initialize();
  return p.table().has_feature(to_c("no-feature-has-this-name")) == 0
             ? pass()
             : fail("it has a feature that nobody knows");
}

/// Opens, initializes and registers, or throws what went wrong.
struct Ready : RawPlugin {
  explicit Ready(const Subject& s) : RawPlugin(s) {
    if (const auto e = initialize(); !e.empty()) throw std::runtime_error("initialize: " + e);
    if (const auto e = register_all(); !e.empty()) throw std::runtime_error("register_all: " + e);
  }
};

template <class F> Result each_resolver(const Subject& s, F&& f) {
  Ready p(s);
  if (p.description().resolvers.empty()) return skip("it registers no resolver");
  for (std::size_t i = 0; i < p.description().resolvers.size(); ++i)
    if (auto why = f(p, i); !why.empty()) return fail(p.description().resolvers[i].name + ": " + why);
  return pass();
}

Result smaller_args(const Subject& s) {
  return each_resolver(s, [](RawPlugin& p, std::size_t i) -> std::string {
    const auto inputs = sample_inputs(p.services(), p.description().resolvers[i], 1);
    const auto got = solve_by_hand(p, i, inputs, {.struct_size = 24});
    return got.code == MLS_INVALID_ARGUMENT
               ? ""
               : fmt::format("a struct of 24 bytes gives {} instead of INVALID_ARGUMENT",
                             status_name(got.code));
  });
}

bool same(const Solved& a, const Solved& b) {
  if (a.error != b.error || a.outcome != b.outcome || a.outputs.size() != b.outputs.size()) return false;
  for (std::size_t i = 0; i < a.outputs.size(); ++i)
    if (a.outputs[i].kind != b.outputs[i].kind ||
        std::bit_cast<std::uint64_t>(a.outputs[i].number) !=
            std::bit_cast<std::uint64_t>(b.outputs[i].number) ||
        a.outputs[i].flag != b.outputs[i].flag || a.outputs[i].text != b.outputs[i].text)
      return false;
  return true;
}

Result larger_args(const Subject& s) {
  return each_resolver(s, [](RawPlugin& p, std::size_t i) -> std::string {
    const auto inputs = sample_inputs(p.services(), p.description().resolvers[i], 1);
    const auto usual = solve_by_hand(p, i, inputs),
               larger = solve_by_hand(p, i, inputs, {.struct_size = sizeof(MlsSolveArgs) + 64});
    return same(usual, larger) ? "" : "a larger struct of a newer host gives another answer";
  });
}

Result extension(const Subject& s) {
  return each_resolver(s, [](RawPlugin& p, std::size_t i) -> std::string {
    const auto inputs = sample_inputs(p.services(), p.description().resolvers[i], 1);
    const MlsExtension unknown{sizeof(MlsExtension), 4711, nullptr};
    return same(solve_by_hand(p, i, inputs), solve_by_hand(p, i, inputs, {.next = &unknown}))
               ? ""
               : "an unknown extension changes the answer";
  });
}

Result errors_fine(const Subject& s) {
  return each_resolver(s, [](RawPlugin& p, std::size_t i) -> std::string {
    for (const double scale : {0.0, 1.0, 1e300}) {
      const auto got = solve_by_hand(p, i, sample_inputs(p.services(), p.description().resolvers[i], scale));
      if (got.foreign_error) return "gives an error that the host did not make";
      if (!got.error.empty() && got.error.ends_with(": ")) return "gives an error without a message";
    }
    const auto live = p.services().live_errors();
    return live == 0 ? "" : fmt::format("{} errors were made and neither returned nor destroyed", live);
  });
}

Result registers(const Subject& s) {
  RawPlugin p(s);
  if (const auto e = p.initialize(); !e.empty()) return fail("initialize: " + e);
  const auto e = p.register_all();
  return e.empty() ? pass() : fail(e);
}

Result same_order(const Subject& s) {
  Ready p(s);
  const auto first = p.description().provides();
  if (const auto e = p.register_all(); !e.empty()) return fail("a second registration fails: " + e);
  return first == p.description().provides()
             ? pass()
             : fail("a second registration gives other things, or another order");
}

Result solvable(const Subject& s) {
  const Ready p(s);
  for (std::size_t i = 0; i < p.registration().resolvers.size(); ++i)
    if (p.registration().resolvers[i].solve == nullptr)
      return fail(p.description().resolvers[i].name + " has no solve");
  return pass();
}

Result units_legal(const Subject& s) {
  const Ready p(s);
  publish_units_of(p.description());
  return pass();
}

Result typed(const Subject& s) {
  const auto services = std::make_shared<KitServices>();
  const auto code =
      detail::open_in_process(std::filesystem::absolute(s.library).string(), s.library.string(), services);
  publish_units_of(code->description());
  for (std::size_t i = 0; i < code->description().resolvers.size(); ++i)
    (void)detail::PluginResolver(code->description(), std::make_shared<detail::Generation>(code, i),
                                 services->objects(), {});
  return pass();
}

Result zoo_valid(const Subject& s) {
  Ready p(s);
  std::vector<ZooContribution> texts;
  for (const auto& z : p.description().zoo) texts.push_back({p.description().name, z.name, z.text});
  if (texts.empty()) return skip("it brings no entries");
  (void)load_zoo({}, texts);
  return pass();
}

Result documented(const Subject& s) {
  Ready p(s);
  for (const auto& r : p.description().resolvers) {
    if (r.summary.empty()) return fail(r.name + " has no summary");
    for (const auto* side : {&r.inputs, &r.outputs, &r.options})
      for (const auto& f : *side)
        if (f.meaning.empty())
          return fail(fmt::format("the field '{}' of {} has no meaning", f.name, r.name));
  }
  for (const auto& c : p.description().callbacks)
    if (c.summary.empty()) return fail(c.name + " has no summary");
  return pass();
}

Result files_valid(const Subject& s) {
  std::vector<ZooContribution> texts;
  for (const auto& file : s.manifest->zoo)
    texts.push_back({s.manifest->name, file.string(), detail::read_file(file, 16ULL << 20)});
  (void)load_zoo({}, texts);
  return pass();
}

}  // namespace

std::span<const Check> zoo_checks() {
  static constexpr Check checks[] = {{"R06", Level::required, "zoo",
                                      "entries pass the checks of the zoo, sources included", "",
                                      files_valid}};
  return checks;
}

std::span<const Check> table_checks() {
  static constexpr Check checks[] = {
      {"A01", Level::required, "sizes", "the table has a possible size", "L13", size_sane},
      {"A02", Level::required, "versions", "its major version is that of this kit", "A01", major_fits},
      {"A03", Level::required, "versions", "the host it needs is not newer than this kit", "A02", minor_fits},
      {"A04", Level::required, "slots", "register_all is there", "A03", slots},
      {"A05", Level::required, "attributes", "attributes can be read", "A03", attributes},
      {"A06", Level::required, "names", "name and version can be used", "A03", names},
      {"A07", Level::required, "threads", "thread mode and flags are known", "A03", flags},
      {"A08", Level::required, "manifest", "manifest and library agree", "A04 A05 A06", manifest_fits},
      {"R01", Level::required, "registration", "initialize and register_all succeed", "A04 A05 A06 A07",
       registers},
      {"R02", Level::required, "registration", "a second registration gives the same, in the same order",
       "R01", same_order},
      {"R03", Level::required, "slots", "every resolver has a solve", "R01", solvable},
      {"R04", Level::required, "units", "units can be defined from base units, and none is taken", "R01",
       units_legal},
      {"R05", Level::required, "fields", "units, types and defaults of all fields exist", "R03 R04", typed},
      {"R06", Level::required, "zoo", "entries pass the checks of the zoo, sources included", "R01",
       zoo_valid},
      {"R07", Level::recommended, "documentation", "everything has a summary, every field a meaning", "R01",
       documented},
      {"A09", Level::required, "sizes", "a struct that is too small is refused with INVALID_ARGUMENT", "R05",
       smaller_args},
      {"A10", Level::required, "sizes", "a larger struct of a newer host changes nothing", "A09 V01",
       larger_args},
      {"A11", Level::required, "extensions", "an unknown extension changes nothing", "A09 V01", extension},
      {"A12", Level::required, "features", "a feature that nobody knows is absent", "R01", features},
      {"E01", Level::required, "errors", "errors are the host's, have messages, and none is lost", "A09",
       errors_fine}};
  return checks;
}

}  // namespace mlsysim::plugin::check
