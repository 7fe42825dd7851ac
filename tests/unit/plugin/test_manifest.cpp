#include <mlsysim/plugin/manifest.hpp>
#include <mlsysim/units/error.hpp>

#include "support/catch.hpp"

#include <filesystem>
#include <fstream>

using namespace mlsysim;
using namespace mlsysim::plugin;
namespace fs = std::filesystem;

namespace {

const fs::path kFile = "/srv/plugins/acme.plugin.yaml";

const std::string kGood =
    "schema: mlsysim/plugin@1\nname: acme\nversion: 1.2.0\nlibrary: mlsysim-plugin-acme.so\n"
    "abi: {major: 1, min_minor: 0}\nregisters: [model acme/X, unit furlong]\nconfig: {threshold: 2, name: a "
    "b}\npriority: 500\n";

/// What is wrong with a manifest, as one text.
std::string faults(const std::string& text) {
  try {
    (void)parse_manifest(text, kFile);
  } catch (const ErrorList& list) {
    std::string out;
    for (const auto& p : list.problems()) out += render(p) + "\n";
    return out;
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string without(const std::string& line) {
  std::string out = kGood;
  const auto at = out.find(line);
  REQUIRE(at != std::string::npos);
  return out.erase(at, out.find('\n', at) + 1 - at);
}

}  // namespace

TEST_CASE("a manifest is read", "[plugin]") {
  const auto m = parse_manifest(kGood, kFile);
  CHECK(m.name == "acme");
  CHECK(m.version == "1.2.0");
  CHECK(m.library == "/srv/plugins/mlsysim-plugin-acme.so");
  CHECK(m.abi_major == 1);
  CHECK(m.priority == 500);
  CHECK(m.says_what_it_registers);
  REQUIRE(m.registers.size() == 2);
  CHECK(m.registers[0] == std::pair<std::string, std::string>("model", "acme/X"));
  REQUIRE(m.config.size() == 2);
  CHECK(m.config[1] == std::pair<std::string, std::string>("name", "a b"));
}

TEST_CASE("every problem of a manifest is reported with its place", "[plugin]") {
  const auto text = faults(
      "schema: mlsysim/plugin@1\nnam: acme\nversion: 1\nlibrary: ../../etc/passwd\nabi: {major: one}\n");
  CHECK(text.find("acme.plugin.yaml:2:1: unknown key 'nam'") != std::string::npos);
  CHECK(text.find("did you mean 'name'") != std::string::npos);
  CHECK(text.find("the key 'name' is missing") != std::string::npos);
  CHECK(text.find("'library' leaves the folder of the manifest") != std::string::npos);
  CHECK(text.find("'abi.major' is no whole number") != std::string::npos);
}

TEST_CASE("malicious manifests are refused in bounded time", "[plugin]") {
  CHECK(faults(without("library") + "library: ../other.so\n").find("leaves the folder") != std::string::npos);
  CHECK(faults(without("library") + "library: a/../../other.so\n").find("leaves the folder") !=
        std::string::npos);
  CHECK(faults(without("name: acme") + "name: ../../acme\n").find("the name cannot be used") !=
        std::string::npos);
  CHECK(faults(without("name: acme") + "name: mlsysim\n").find("the name cannot be used") !=
        std::string::npos);
  CHECK(faults(kGood + "x: &a [1]\ny: [*a, *a]\n") != "");
  CHECK(faults(kGood + std::string(100000, '#') + "\n").find("too large") != std::string::npos);
  CHECK(faults(kGood + "name: twice\n") != "");
  CHECK(faults(kGood + "sha256: abc\n").find("no digest") != std::string::npos);
  CHECK(faults(kGood + "variants: {x86-64: a.so}\n").find("a library or variants") != std::string::npos);
  CHECK(faults(without("library") + "variants: {sparc: a.so}\n")
            .find("no variant for this CPU (have: sparc)") != std::string::npos);
  CHECK(faults("schema: mlsysim/plugin@1\nname: a\nversion: 1\n").find("the plugin brings nothing") !=
        std::string::npos);
  CHECK(faults("[1, 2]") != "");
  CHECK(faults("") != "");
  CHECK(faults(without("priority") + "priority: 1e9\n").find("no whole number") != std::string::npos);
}

TEST_CASE("a link out of the folder is no way out", "[plugin]") {
  const auto folder = fs::temp_directory_path() / "mlsysim-manifest-link";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::create_symlink("/etc/passwd", folder / "mlsysim-plugin-acme.so");
  std::ofstream(folder / "acme.plugin.yaml") << kGood;
  CHECK_THROWS_AS(read_manifest(folder / "acme.plugin.yaml"), ErrorList);
  fs::remove_all(folder);
}

TEST_CASE("the best variant that this machine runs is taken", "[plugin]") {
  const auto names = machine_variants();
  REQUIRE(!names.empty());
  const auto m = parse_manifest(without("library") + "variants: {" + names.back() + ": base.so, " +
                                    (names.size() > 1 ? names.front() : "other") + ": best.so}\n",
                                kFile);
  CHECK(m.variant == names.front());
  CHECK(m.library.filename() == (names.size() > 1 ? "best.so" : "base.so"));
}
