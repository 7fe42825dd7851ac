/// Fuzzes the calls between host and plugin: bytes become what a plugin registers, answers and asks of the
/// host (fuzzed_plugin.cpp). Whatever they are, only mlsysim::Error is thrown, a fault names the plugin, a
/// number of a result is finite, and nothing that was registered is left behind.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds: fuzz_abi [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"

#include <mlsysim/plugin/host.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

namespace {

using namespace mlsysim;
using namespace mlsysim::plugin;
using fuzz::fail;

void solve(const std::string& name, const std::string& bytes) {
  const auto resolver = ResolverRegistry::standard().share(name);
  Record in(*resolver, Side::inputs);
  for (const auto& f : resolver->inputs()) {
    if (f.kind == ValueKind::object)
      in.set(f.name, DynamicValue(&standard_zoo().at<HardwareNode>("H100")));
    else if (f.kind == ValueKind::quantity || f.kind == ValueKind::number)
      in.set(f.name, {Value(5.0), f.exps});
    else if (f.kind == ValueKind::flag)
      in.set(f.name, {Value(true), {}});
    else
      in.set(f.name, {Value(std::string("fast")), {}});
  }
  const auto got = evaluate(*resolver, in);
  if (!got.outcome.feasible()) return;
  for (const auto& f : resolver->outputs()) {
    const auto out = got.outcome->get(f.name);
    if (const auto* x = std::get_if<double>(&out.value); x != nullptr && !std::isfinite(*x))
      fail("a result that is no finite number", bytes);
  }
}

/// One step of a host's day. Faults of the plugin have its name.
template <class F> bool step(const std::string& bytes, F&& f) {
  return fuzz::takes(bytes, [&] {
    try {
      f();
    } catch (const PluginFault& fault) {
      if ((fault.plugin() + fault.call() + fault.what()).find("fuzzed") == std::string::npos)
        fail("a fault that names no plugin", std::string(fault.what()) + "\n----\n" + bytes);
      throw;
    }
  });
}

/// Never ended: it would have to be before the tables of what is known.
PluginHost& host() {
  static auto& one = *new PluginHost({.environment = Look::no,
                                      .user = Look::no,
                                      .install = Look::no,
                                      .allowed = "all",
                                      .isolation = Isolation::never,
                                      .log = [](std::int32_t, std::string_view) {}});
  return one;
}

/// @return whether the plugin was loaded and something of it worked
bool check(const std::string& bytes) {
  char place[64];
  std::snprintf(place, sizeof place, "%p %zu", static_cast<const void*>(bytes.data()), bytes.size());
  ::setenv("FUZZED_BYTES", place, 1);
  auto& h = host();
  const auto resolvers = ResolverRegistry::standard().names();
  const auto entries = standard_zoo().entries().size();
  std::string name;
  if (!step(bytes, [&] { name = h.load(FUZZED_PLUGIN); })) return false;
  const auto told = h.description(name);
  bool worked = told.resolvers.empty();
  for (const auto& r : told.resolvers) {
    (void)step(bytes, [&] { (void)h.can_create(r.name); });
    worked |= step(bytes, [&] { solve(r.name, bytes); });
  }
  for (const auto& b : told.backends)
    (void)step(bytes, [&] {
      const plugin::Program program{
          .name = "p", .precision = "bf16", .ops = {{.name = "m", .kind = "matmul"}}};
      (void)h.support(b.name, program, b.devices.empty() ? "H100" : b.devices[0]);
    });
  for (const auto& c : told.converters)
    (void)step(bytes, [&] {
      if (c.direction == MLS_IMPORTER)
        (void)h.import_text(c.name, "a.fuzzed", bytes);
      else
        (void)h.export_text(c.name, {&standard_zoo().at<HardwareNode>("H100"), "hardware"});
    });
  (void)step(bytes, [&] { (void)h.has_feature(name, "speed"); });
  h.unload(name);
  if (ResolverRegistry::standard().names() != resolvers || standard_zoo().entries().size() != entries)
    fail("something is left behind", bytes);
  return worked;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
int main(int argc, char** argv) {
  // Zeros stand for what is right; the third byte is what is registered.
  std::vector<std::string> seeds;
  for (const char what : std::string("\0\1\2\3\4", 5)) {
    seeds.emplace_back(80, '\0');
    seeds.back()[2] = what;
  }
  static const std::vector<std::string> pieces{std::string(1, '\0'),
                                               std::string(8, '\0'),
                                               "\1",
                                               "\2",
                                               "\3",
                                               "\x04",
                                               "\x05",
                                               "\x07",
                                               "\x10",
                                               "\x81",
                                               "\x82",
                                               "\xC8",
                                               "\xE0",
                                               "\xE6",
                                               "\xFA",
                                               "\xFF",
                                               "\x30"
                                               "fuzzed/Model"};
  return mlsysim::fuzz::run(argc, argv, 1500, {seeds, pieces}, check);
}
#endif
