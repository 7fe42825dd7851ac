#include "support/catch.hpp"
#include "zoo_fixtures.hpp"

#include <mlsysim/specs/conventions.hpp>

#include <cmath>
#include <set>

using namespace mlsysim;
using zoo_test::shipped;

TEST_CASE("the shipped zoo loads whole", "[zoo]") {
  const Zoo& zoo = shipped();
  CHECK(zoo.all<HardwareNode>().size() >= 170);
  CHECK(zoo.all<Workload>().size() >= 75);
  CHECK(zoo.all<Node>().size() >= 40);
  CHECK(zoo.all<NetworkFabric>().size() >= 15);
  CHECK(zoo.all<Fleet>().size() >= 14);
  CHECK(zoo.all<GridProfile>().size() >= 36);
  CHECK(zoo.all<Datacenter>().size() >= 7);
  CHECK(zoo.all<CoolingProfile>().size() >= 6);
  CHECK(zoo.all<ScalarFigure>().size() >= 100);
  CHECK(zoo.references().size() >= 100);
}

TEST_CASE("every figure is finite, has a path, a text, a place and a dated source", "[zoo]") {
  const Zoo& zoo = shipped();
  for (const Entry* entry : zoo.entries()) {
    INFO(entry->kind << " " << entry->name);
    std::set<std::string> paths;
    for (const auto& f : entry->figures) {
      INFO(f.path);
      const Source& s = entry->source_of(f.path);
      const bool good = std::isfinite(f.base) && !f.authored.empty() && f.where.line > 0 &&
                        paths.insert(f.path).second && (s.verified.empty() != s.recorded.empty()) &&
                        (s.ref.empty() || zoo.find_reference(s.ref) != nullptr);
      if (!good) FAIL_CHECK("bad figure");
      if (f.low && !(*f.low <= f.base && f.base <= *f.high)) FAIL_CHECK("range does not hold the value");
    }
  }
}

TEST_CASE("a price is no figure of a data sheet, and says so of itself", "[zoo]") {
  // Makers of accelerators publish no prices: what an entry inherits from its data sheet must not be one.
  int prices = 0;
  for (const auto* device : shipped().all<HardwareNode>())
    for (const char* path : {"unit_cost", "unit_cost_max"}) {
      const Figure* price = device->entry->figure(path);
      if (price == nullptr) continue;
      INFO(device->name << " " << path);
      REQUIRE(price->own);
      CHECK(price->own->kind != SourceKind::datasheet);
      CHECK(price->own->ref != device->entry->source.ref);
      // An estimate says how far off it may be.
      if (price->own->kind == SourceKind::estimate)
        CHECK((price->low.has_value() || price->own->spread.has_value()));
      ++prices;
    }
  CHECK(prices >= 11);
}

TEST_CASE("textbook figures have the values of their sources", "[zoo]") {
  const Zoo& zoo = shipped();
  const auto& h100 = zoo.at<HardwareNode>("H100");
  CHECK(h100.memory.capacity->base() == 80.0 * 1024 * 1024 * 1024);
  CHECK_THAT(h100.memory.bandwidth->base(), WithinRel(3.35e12, 1e-12));
  CHECK_THAT(rate_at(h100, Precision::fp16).base(), WithinRel(989e12, 1e-12));
  const auto& a100 = zoo.at<HardwareNode>("A100");
  CHECK_THAT(a100.memory.bandwidth->base(), WithinRel(2039e9, 1e-12));
  CHECK_THAT(rate_at(a100, Precision::fp16).base(), WithinRel(312e12, 1e-12));
  CHECK_THAT(zoo.at<GridProfile>("US_Avg").carbon_intensity.base(), WithinRel(429.0 / 3.6e6, 1e-12));
  CHECK_THAT(zoo.at<Workload>("Llama3_8B").parameters->base(), WithinRel(8.03e9, 1e-3));
  CHECK_THAT(zoo.scalar("cloud.electricity").quantity<dim::money_per_energy>().base(),
             WithinRel(0.12 / 3.6e6, 1e-12));
  CHECK_THROWS_AS(zoo.scalar("cloud.electricity").quantity<dim::time>(), DimensionError);
}

TEST_CASE("devices: rates fall with the width of the number, caches are smaller than memories", "[zoo]") {
  for (const HardwareNode* h : shipped().all<HardwareNode>()) {
    INFO(h->name);
    const auto& d = h->compute.dense;
    const auto not_slower = [&](Precision narrow, Precision wide) {
      if (d[narrow] && d[wide]) CHECK(d[narrow]->base() >= d[wide]->base() * 0.999);
    };
    not_slower(Precision::fp16, Precision::tf32);
    not_slower(Precision::fp8, Precision::fp16);
    not_slower(Precision::fp4, Precision::fp8);
    for (std::size_t i = 0; i < kPrecisions; ++i)
      if (const auto p = static_cast<Precision>(i); h->compute.sparse[p] && d[p])
        CHECK(h->compute.sparse[p]->base() >= d[p]->base());
    if (!d.empty()) CHECK(d[h->compute.default_precision].has_value());
    if (h->memory.l2_cache && h->memory.capacity)
      CHECK(h->memory.l2_cache->base() < h->memory.capacity->base());
    if (h->memory.usable_capacity && h->memory.capacity)
      CHECK(h->memory.usable_capacity->base() <= h->memory.capacity->base());
    if (h->power.tdp_min && h->power.tdp_max) CHECK(h->power.tdp_min->base() <= h->power.tdp_max->base());
    if (h->unit_cost && h->unit_cost_max) CHECK(h->unit_cost->base() <= h->unit_cost_max->base());
  }
}

TEST_CASE("one-way link rates are plausible", "[zoo]") {
  for (const HardwareNode* h : shipped().all<HardwareNode>()) {
    INFO(h->name);
    // No device-to-device link of today moves more than 5 TB/s one way, none of a host more than 1 TB/s.
    if (h->device_link.bandwidth) CHECK(h->device_link.bandwidth->base() / h->accelerator_count <= 5e12);
    if (h->host_link.bandwidth) CHECK(h->host_link.bandwidth->base() <= 1e12);
    if (h->device_link.bandwidth && h->memory.bandwidth)
      CHECK(h->device_link.bandwidth->base() <= h->memory.bandwidth->base());
  }
  for (const Node* n : shipped().all<Node>()) {
    INFO(n->name);
    REQUIRE(n->accelerator != nullptr);
    if (n->intra_node_bandwidth && n->accelerator->device_link.bandwidth)
      CHECK(n->intra_node_bandwidth->base() <= n->accelerator->device_link.bandwidth->base() * 1.001);
    if (n->pair_bandwidth && n->intra_node_bandwidth)
      CHECK(n->pair_bandwidth->base() <= n->intra_node_bandwidth->base());
  }
}

TEST_CASE("fleets: the accelerators that a source counts are nodes times accelerators per node", "[zoo]") {
  for (const Fleet* f : shipped().all<Fleet>()) {
    INFO(f->name);
    REQUIRE(f->node != nullptr);
    REQUIRE(f->fabric != nullptr);
    if (f->stated_accelerators) CHECK(f->total_accelerators() == *f->stated_accelerators);
  }
  for (const Rack* r : shipped().all<Rack>())
    if (r->node != nullptr && r->nodes_per_rack && r->accelerators)
      CHECK(*r->nodes_per_rack * r->node->accelerators_per_node == *r->accelerators);
}

TEST_CASE("models: shapes are whole and active parameters do not exceed all", "[zoo]") {
  int shaped = 0;
  for (const Workload* w : shipped().all<Workload>()) {
    INFO(w->name);
    shaped += w->has_shape();
    if (w->active_parameters && w->parameters) CHECK(w->active_parameters->base() <= w->parameters->base());
    if (w->parameters) CHECK(w->size(Precision::fp16).base() > 0);
    for (const auto& size : {w->layers(), w->hidden(), w->heads(), w->kv_heads(), w->head_dim()})
      if (size) CHECK(*size == std::floor(*size));
    if (w->heads() && w->kv_heads()) CHECK(std::fmod(*w->heads(), *w->kv_heads()) == 0);
    if (const auto* e = w->experts(); e != nullptr && e->top_k) CHECK(*e->top_k <= *e->count);
  }
  CHECK(shaped >= 55);
}

TEST_CASE("facilities stand on grids, and their effectiveness is at least one", "[zoo]") {
  for (const Datacenter* d : shipped().all<Datacenter>()) {
    INFO(d->name);
    REQUIRE(d->grid != nullptr);
    CHECK(d->pue >= 1);
  }
  // A grid of coal at its dirtiest emits about 1.2 kgCO2e/kWh over its life cycle.
  for (const GridProfile* g : shipped().all<GridProfile>()) {
    INFO(g->name);
    CHECK(g->carbon_intensity.base() * 3.6e6 <= 1200);
  }
}

TEST_CASE("the peak of a GPU is its units times its clock times a power of two of work", "[zoo]") {
  // Tensor cores do 2^k FLOP per unit and clock. Data sheets round to three digits and quote the matrix rate
  // at a clock up to 8 % below the highest one, so the exponent may miss a whole number by log2(1.08).
  const Zoo& zoo = shipped();
  int checked = 0;
  for (const char* name : {"V100", "A100", "H100", "H200"}) {
    INFO(name);
    const HardwareNode* h = zoo.find<HardwareNode>(name);
    REQUIRE(h != nullptr);
    if (!h->compute.units || !h->compute.clock || !h->compute.dense[Precision::fp16]) continue;
    const double per_clock =
        h->compute.dense[Precision::fp16]->base() / (*h->compute.units * h->compute.clock->base());
    const double power = std::log2(per_clock);
    CHECK(std::abs(power - std::round(power)) < 0.12);
    ++checked;
  }
  CHECK(checked >= 2);
}

TEST_CASE("the library's defaults are all there", "[zoo]") {
  const auto defaults = conventions_of(shipped());
  CHECK(defaults.pue >= 1);
  CHECK(defaults.device_class != nullptr);
}

TEST_CASE("constants of kernels stand in their families, and in no file of devices", "[zoo]") {
  // What is left below these keys is of the device: its memory, power limit and launches.
  const std::set<std::string> of_devices{"efficiency.vector", "efficiency.memory",     "efficiency.burst",
                                         "kernels.launch",    "efficiency.burst_time", "kernels.issue"};
  const auto is_kernel = [&](const std::string& path) {
    const auto group = path.substr(0, path.find('.'));
    return (group == "efficiency" || group == "kernels" || group == "tiles" || group == "collectives") &&
           of_devices.count(path) == 0;
  };
  for (const Entry* e : shipped().entries()) {
    if (e->kind != "hardware" && e->kind != "device_class") continue;
    for (const auto& figure : e->figures) {
      INFO(e->name << " " << figure.path);
      CHECK_FALSE(is_kernel(figure.path));
    }
  }
  for (const DeviceClass* c : shipped().all<DeviceClass>())
    for (const auto& rule : c->rules) CHECK_FALSE(is_kernel(rule.figure));
  for (const KernelFamily* f : shipped().all<KernelFamily>())
    for (const auto& constants : f->generations) {
      CHECK((constants.generation != nullptr || !constants.devices.empty()));
      for (const auto& name : constants.devices) {
        INFO(f->name << " " << name);
        CHECK(shipped().find<HardwareNode>(name) != nullptr);
        CHECK(shipped().at<HardwareNode>(name).name == name);  // no alias, which nothing would be found by
      }
    }
}

TEST_CASE("no name of the shipped zoo differs from another by letter case alone", "[zoo]") {
  const auto lower = [](std::string s) {
    for (char& c : s) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return s;
  };
  std::set<std::string> seen;
  for (const Entry* e : shipped().entries()) CHECK(seen.insert(e->kind + "/" + lower(e->name)).second);
}
