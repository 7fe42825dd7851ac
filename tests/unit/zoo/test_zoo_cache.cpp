#include "support/catch.hpp"
#include "zoo_fixtures.hpp"

#include "zoo/detail/zoo_cache.hpp"

#include <mlsysim/zoo/writer.hpp>

#include <chrono>
#include <random>
#include <sstream>

using namespace mlsysim;
using namespace mlsysim::detail;
using zoo_test::Folder;

namespace {

std::string bytes_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

void make_zoo(const Folder& folder) {
  folder.write("references.yaml", zoo_test::kReferences);
  folder.write("sub/hardware.yaml", zoo_test::kDevice);
}

LoadOptions options_of(const Folder& folder) {
  return {.directory = folder.path(), .environment = ZooEnvironment::ignore};
}

}  // namespace

TEST_CASE("the cache of the shipped zoo holds every file and gives the very same trees", "[zoo]") {
  const Folder folder;
  const auto cache_file = folder.path() / "zoo.cache";
  const auto files = yaml_files(zoo_test::source_zoo());
  CHECK(write_cache(zoo_test::source_zoo(), cache_file) == files.size());
  auto cache = TreeCache::read(cache_file);
  REQUIRE(cache.size() == files.size());
  for (const auto& name : files) {
    const auto source = read_source(zoo_test::source_zoo() / name);
    Problems problems;
    const auto parsed = parse_yaml(source, problems);
    const auto cached = cache.take(name, source.bytes);
    REQUIRE(parsed);
    REQUIRE(cached);
    CHECK(cached->pool == parsed->pool);
    REQUIRE(cached->nodes.size() == parsed->nodes.size());
    for (std::size_t i = 0; i < parsed->nodes.size(); ++i) {
      const auto &a = cached->nodes[i], &b = parsed->nodes[i];
      if (a.end != b.end || a.line != b.line || a.column != b.column || a.kind != b.kind ||
          a.quoted != b.quoted)
        FAIL(name << " node " << i);
    }
  }
  CHECK(cache.size() == 0);
}

TEST_CASE("a cached tree is used only for the content it was made from", "[zoo]") {
  const Folder folder;
  make_zoo(folder);
  write_cache(folder.path(), folder.path() / kCacheName);
  // Proof that the cache is used: its tree of the device says 80 GB, even where the cache was made from
  // another text whose hash we forge by writing the old content back.
  CHECK(load_zoo(options_of(folder)).at<HardwareNode>("X1").memory.capacity->base() == 80e9);
  auto edited = zoo_test::kDevice;
  edited.replace(edited.find("80 GB"), 5, "96 GB");
  folder.write("sub/hardware.yaml", edited);
  CHECK(load_zoo(options_of(folder)).at<HardwareNode>("X1").memory.capacity->base() == 96e9);

  auto cache = TreeCache::read(folder.path() / kCacheName);
  CHECK_FALSE(cache.take("sub/hardware.yaml", edited));
  CHECK_FALSE(cache.take("other.yaml", zoo_test::kDevice));
  CHECK(cache.take("sub/hardware.yaml", zoo_test::kDevice));
  CHECK_FALSE(cache.take("sub/hardware.yaml", zoo_test::kDevice));  // taken out
}

TEST_CASE("the tree of the cache is what is read, not the file again", "[zoo]") {
  // A cache whose tree says something else than the file shows which of the two is used.
  const Folder folder;
  make_zoo(folder);
  auto other = zoo_test::kDevice;
  other.replace(other.find("80 GB"), 5, "11 GB");
  Problems problems;
  const auto tree = parse_yaml({"sub/hardware.yaml", other}, problems);
  REQUIRE(tree);
  TreeCache cache;
  cache.add("sub/hardware.yaml", {content_hash(zoo_test::kDevice), zoo_test::kDevice.size(), *tree});
  folder.write(std::string(kCacheName), cache.serialise());
  CHECK(load_zoo(options_of(folder)).at<HardwareNode>("X1").memory.capacity->base() == 11e9);
  auto ignoring = options_of(folder);
  ignoring.cache = ZooCache::ignore;
  CHECK(load_zoo(ignoring).at<HardwareNode>("X1").memory.capacity->base() == 80e9);
}

TEST_CASE("an edit is seen whatever time the file says", "[zoo]") {
  const Folder folder;
  make_zoo(folder);
  const auto file = folder.path() / "sub" / "hardware.yaml";
  write_cache(folder.path(), folder.path() / kCacheName);
  REQUIRE(TreeCache::read(folder.path() / kCacheName).sound());
  CHECK(load_zoo(options_of(folder)).at<HardwareNode>("X1").memory.capacity->base() == 80e9);
  auto edited = zoo_test::kDevice;
  edited.replace(edited.find("80 GB"), 5, "96 GB");
  folder.write("sub/hardware.yaml", edited);
  std::filesystem::last_write_time(
      file, std::filesystem::last_write_time(folder.path() / kCacheName) - std::chrono::hours(24));
  CHECK(load_zoo(options_of(folder)).at<HardwareNode>("X1").memory.capacity->base() == 96e9);
  // A file that is gone is missed by those that refer to it, and they are shown with their place.
  std::filesystem::remove(file);
  CHECK_FALSE(load_zoo(options_of(folder)).find<HardwareNode>("X1"));
}

TEST_CASE("a damaged cache is never used and never crashes", "[zoo]") {
  const Folder folder;
  make_zoo(folder);
  const auto cache_file = folder.path() / kCacheName;
  write_cache(folder.path(), cache_file);
  const auto good = bytes_of(cache_file);
  REQUIRE(TreeCache::parse(good).size() == 2);
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    CHECK(TreeCache::parse(good.substr(0, cut)).size() == 0);
  CHECK(TreeCache::parse(good + "x").size() == 0);
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    CHECK(TreeCache::parse(bad).size() == 0);
  }
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string noise(64, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    folder.write(std::string(kCacheName), round % 2 == 0 ? noise : good.substr(0, 24) + noise);
    if (round % 50 == 0)
      CHECK(load_zoo(options_of(folder)).at<HardwareNode>("X1").memory.capacity->base() == 80e9);
    CHECK(TreeCache::read(cache_file).size() == 0);
  }
}

TEST_CASE("damage behind a correct checksum is still caught by the check of each tree", "[zoo]") {
  // An attacker or a bug could write a good checksum over a bad tree.
  Problems problems;
  auto tree = parse_yaml({"a.yaml", zoo_test::kDevice}, problems);
  REQUIRE(tree);
  YamlParts bad{{tree->nodes.begin(), tree->nodes.end()}, std::string(tree->pool)};
  bad.nodes[3].end = 100000;
  TreeCache cache;
  cache.add("a.yaml", {content_hash(zoo_test::kDevice), zoo_test::kDevice.size(), std::move(bad).tree()});
  CHECK(TreeCache::parse(cache.serialise()).size() == 0);
}

TEST_CASE("the whole zoo is the same with and without cache", "[zoo]") {
  const Folder folder;
  std::filesystem::copy(zoo_test::source_zoo(), folder.path(), std::filesystem::copy_options::recursive);
  std::filesystem::remove(folder.path() / kCacheName);
  write_cache(folder.path(), folder.path() / kCacheName);
  const Zoo cached = load_zoo(options_of(folder));
  const Zoo& parsed = zoo_test::shipped();
  REQUIRE(cached.entries().size() == parsed.entries().size());
  for (std::size_t i = 0; i < parsed.entries().size(); ++i)
    if (to_yaml(cached, *cached.entries()[i]) != to_yaml(parsed, *parsed.entries()[i]))
      FAIL(parsed.entries()[i]->name);
}

TEST_CASE("a cache that cannot be written is an error", "[zoo]") {
  const Folder folder;
  make_zoo(folder);
  CHECK_THROWS_WITH(write_cache(folder.path(), folder.path() / "no" / "such" / "folder.cache"),
                    ContainsSubstring("mlsysim.zoo.070"));
  folder.write("broken.yaml", "a: [");
  CHECK_THROWS_AS(write_cache(folder.path(), folder.path() / kCacheName), ErrorList);
}
