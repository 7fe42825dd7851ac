#include "support/catch.hpp"

#include <mlsysim/specs/content.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/units/unit.hpp>

using namespace mlsysim;

namespace {

HardwareNode chip() {
  HardwareNode h;
  h.name = "Chip";
  h.memory.bandwidth = 1.0 * unit::TB / unit::s;
  h.compute.dense[Precision::fp16] = 1.0 * unit::PFLOP / unit::s;
  return h;
}

std::uint64_t digest(const HardwareNode& h) {
  return content_digest(ObjectRef{&h, ObjectType<HardwareNode>::name});
}
std::uint64_t digest(const Fleet& f) { return content_digest(ObjectRef{&f, ObjectType<Fleet>::name}); }

}  // namespace

TEST_CASE("the digest of a spec is that of its content", "[spec]") {
  const HardwareNode one = chip(), same = chip();
  CHECK(digest(one) == digest(same));
  CHECK(digest(one) != 0);
  const auto changed = [&](auto edit) {
    HardwareNode h = chip();
    edit(h);
    return digest(h) != digest(one);
  };
  CHECK(changed([](HardwareNode& h) { h.memory.bandwidth = 1.001 * unit::TB / unit::s; }));
  CHECK(changed([](HardwareNode& h) { h.memory.bandwidth.reset(); }));
  CHECK(changed([](HardwareNode& h) { h.category = "cloud"; }));
  CHECK(changed([](HardwareNode& h) { h.compute.default_precision = Precision::bf16; }));
  CHECK(changed([](HardwareNode& h) { h.compute.dense[Precision::fp8] = 1.0 * unit::PFLOP / unit::s; }));
  CHECK(changed([](HardwareNode& h) { h.efficiency.memory = 0.9; }));
  CHECK(changed([](HardwareNode& h) { h.partition_profiles.push_back({.name = "half"}); }));
  CHECK(content_digest(ObjectRef{}) == 0);
  CHECK(content_digest(ObjectRef{&one, "no such type"}) == 0);
}

TEST_CASE("what a spec points to belongs to its content", "[spec]") {
  HardwareNode h = chip();
  Node node;
  node.accelerator = &h;
  Fleet fleet;
  fleet.node = &node;
  const auto before = digest(fleet);
  h.memory.bandwidth = 2.0 * unit::TB / unit::s;
  CHECK(digest(fleet) != before);
}

TEST_CASE("conventions and zoos given as objects have a digest", "[spec]") {
  Conventions c;
  const auto digest_of = [](const auto& x) {
    return content_digest(ObjectRef{&x, ObjectType<std::decay_t<decltype(x)>>::name});
  };
  const auto before = digest_of(c);
  CHECK(before != 0);
  c.idle_fraction = 0.5;
  CHECK(digest_of(c) != before);
  Zoo zoo;
  zoo.add(chip(), {.kind = "hardware", .name = "A"});
  CHECK(digest_of(zoo) == content_digest(zoo));
}

TEST_CASE("the digest of a zoo covers every entry", "[spec]") {
  const auto zoo_of = [](double bandwidth, std::string alias) {
    Zoo zoo;
    zoo.add(chip(), {.kind = "hardware", .name = "A"});
    HardwareNode h = chip();
    h.memory.bandwidth = bandwidth * unit::TB / unit::s;
    zoo.add(std::move(h), {.kind = "hardware", .name = "B", .aliases = {std::move(alias)}});
    return content_digest(zoo);
  };
  CHECK(zoo_of(1, "b") == zoo_of(1, "b"));
  CHECK(zoo_of(1, "b") != zoo_of(2, "b"));
  CHECK(zoo_of(1, "b") != zoo_of(1, "c"));
}
