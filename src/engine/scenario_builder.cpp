#include "detail/draft_head.hpp"
#include "detail/plan_table.hpp"

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/engine/scenario_builder.hpp>

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/files/detail/roots.hpp>
#include <mlsysim/resolvers/machine.hpp>
#include <mlsysim/specs/detail/torus.hpp>
#include <mlsysim/specs/device_name.hpp>
#include <mlsysim/specs/releases.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>

namespace mlsysim {
namespace {

/// Owns the objects that a built scenario points to.
struct Keep {
  explicit Keep(const Zoo& zoo) : reader(zoo) {}
  FieldReader reader;
  std::deque<Node> nodes;
  std::deque<Fleet> fleets;
  std::deque<HardwareNode> slices;
  std::deque<Workload> heads;
};

/// The machine that a name stands for; exactly one is set.
struct Machine {
  const HardwareNode* device = nullptr;
  const Node* node = nullptr;
  const Fleet* fleet = nullptr;
  const Pod* pod = nullptr;
  double times = 1;                    ///< as many of it
  const HardwareNode* rack = nullptr;  ///< by whose name the devices were called

  [[nodiscard]] int count() const {
    return (device != nullptr) + (node != nullptr) + (fleet != nullptr) + (pod != nullptr);
  }
};

template <class T> const T* only_or_null(const Zoo& zoo) {
  const auto all = zoo.all<T>();
  return all.size() == 1 ? all.front() : nullptr;
}

/// The machine of a device; a rack is the devices in it.
Machine opened(const HardwareNode* device, double times = 1) {
  if (device->part == nullptr) return {.device = device, .times = times};
  return {.device = device->part, .times = times * devices_in(*device), .rack = device};
}

Machine machine_in_file(FieldReader& reader, const std::string& path, const Location& where) {
  const Zoo& file = reader.file(path);
  // A file may define the device that its node needs: the largest thing in it is meant.
  if (const auto* fleet = only_or_null<Fleet>(file)) return {.fleet = fleet};
  if (const auto* pod = only_or_null<Pod>(file)) return {.pod = pod};
  if (const auto* node = only_or_null<Node>(file)) return {.node = node};
  if (const auto* device = only_or_null<HardwareNode>(file)) return opened(device);
  throw InputError("mlsysim.engine.030", fmt::format("'{}' does not say what to run on", path), "hardware",
                   fmt::format("{} devices, {} nodes and {} clusters", file.all<HardwareNode>().size(),
                               file.all<Node>().size(), file.all<Fleet>().size()),
                   "one device, node, pod or cluster", "give a file with a single entry", where);
}

/// Whether a text is a file of a machine. A maker before a slash makes no path: "nvidia/h100".
bool is_machine_file(const Zoo& zoo, std::string_view text) {
  return names_a_file(text) && !text.starts_with("nvidia.com/") &&
         (devices_called(zoo, text).empty() || files::exists(std::filesystem::path(text)));
}

Machine machine_of(FieldReader& reader, std::string_view text, const Location& where) {
  if (is_machine_file(reader.zoo(), text)) return machine_in_file(reader, std::string(text), where);
  const Zoo& zoo = reader.zoo();
  const Machine found{zoo.find<HardwareNode>(text), zoo.find<Node>(text), zoo.find<Fleet>(text),
                      zoo.find<Pod>(text)};
  if (found.count() == 1) return found.device != nullptr ? opened(found.device) : found;
  if (found.count() > 1)
    throw LookupError({.id = "mlsysim.engine.031",
                       .message = fmt::format("the name '{}' is ambiguous", text),
                       .key = "hardware",
                       .found = fmt::format("{} things of this name", found.count()),
                       .expected = "one device, node, pod or cluster",
                       .hint = "give it as a YAML file",
                       .where = where});
  // As people and drivers write it.
  const auto devices = devices_called(zoo, text);
  const auto nodes = nodes_called(zoo, text);
  if (devices.size() == 1 && nodes.empty()) return opened(devices.front(), chips_of_slice(text));
  if (nodes.size() == 1 && devices.empty()) return {.node = nodes.front()};
  if (!devices.empty() || !nodes.empty()) {
    std::vector<std::string> meant;
    for (const auto* device : devices) meant.push_back(device->name);
    for (const auto* node : nodes) meant.push_back(node->name);
    throw LookupError({.id = "mlsysim.engine.031",
                       .message = fmt::format("the name '{}' is ambiguous", text),
                       .key = "hardware",
                       .found = fmt::format("{} things of this name", meant.size()),
                       .expected = "one device, node, pod or cluster",
                       .hint = fmt::format("say which: {}", fmt::join(meant, ", ")),
                       .where = where});
  }
  if (const auto many = counted_machine(zoo, text)) {
    auto machine = machine_of(reader, many->name, where);
    machine.times *= many->count;
    return machine;
  }
  auto names = zoo.names<HardwareNode>();
  for (auto more : {zoo.names<Node>(), zoo.names<Fleet>(), zoo.names<Pod>()})
    for (auto& name : more) names.push_back(std::move(name));
  throw LookupError(
      {.id = "mlsysim.engine.032",
       .message = fmt::format("there is no hardware '{}'", text),
       .key = "hardware",
       .found = fmt::format("'{}'", text),
       .expected = "the name of a device, a node, a pod or a cluster, or a YAML file with one",
       .hint = text.find(',') == std::string::npos
                   ? did_you_mean(text, names)
                   : "one machine is asked about: mlsysim sweep, compare and decide take several",
       .where = where});
}

/// The memory of a device that was found by its name, as its maker may sell the chip with several.
std::string memory_words(const HardwareNode& device) {
  const auto& capacity = device.memory.capacity;
  return capacity ? fmt::format(", with {:.3g} GB", *capacity / unit::GB) : std::string();
}

/// The machine under any of its names, a slice of a device among them; what it was taken for is a warning.
Machine machine_called(Keep& keep, const std::string& text, const Location& where, BuiltScenario& out) {
  const Zoo& zoo = keep.reader.zoo();
  if (is_machine_file(zoo, text)) return machine_of(keep.reader, text, where);
  const auto many = counted_machine(zoo, text);
  if (auto slice = slice_called(zoo, many ? many->name : std::string_view(text))) {
    out.assumptions.push_back({"slice", AssumedValue::exact(slice->units_share), slice->rule});
    keep.slices.push_back(std::move(slice->device));
    return {.device = &keep.slices.back(), .times = many ? many->count : 1};
  }
  const Machine machine = machine_of(keep.reader, text, where);
  const auto& named = machine.rack != nullptr     ? machine.rack->name
                      : machine.device != nullptr ? machine.device->name
                      : machine.node != nullptr   ? machine.node->name
                                                  : text;
  if (named != text && (!many || named != many->name) && zoo.find<HardwareNode>(text) == nullptr &&
      zoo.find<Node>(text) == nullptr)
    out.warnings.push_back(fmt::format("'{}' is taken for {} of the zoo{}", text, named,
                                       machine.device == nullptr ? "" : memory_words(*machine.device)));
  return machine;
}

/// The host of which a pod has many, or the pod as one node where its own axes are others.
const Node* host_of(const Pod& pod, Keep& keep, BuiltScenario& out) {
  const auto axes = axes_of(pod);
  out.assumptions.push_back(
      {"pod", AssumedValue::exact(pod.chips),
       fmt::format("a torus of sides {} joins the devices of the pod {}", fmt::join(axes, " x "), pod.name)});
  const Node* host = reference_node(*pod.accelerator);
  if (host != nullptr && host->domain_accelerators.value_or(0) >= pod.chips &&
      torus_sides(host->intra_node_topology, pod.chips) == axes)
    return host;
  keep.nodes.push_back(node_of(pod));
  return &keep.nodes.back();
}

/// The entries that the name of a region stands for; a grid takes precedence over a datacenter.
struct Region {
  const GridProfile* grid = nullptr;
  const Datacenter* datacenter = nullptr;
};

Region region_of(const Zoo& zoo, std::string_view text, const Location& where) {
  const Region found{zoo.find<GridProfile>(text), zoo.find<Datacenter>(text)};
  if (found.grid != nullptr || found.datacenter != nullptr) return found;
  const auto grids = zoo.names<GridProfile>();
  auto names = grids;
  for (auto& name : zoo.names<Datacenter>()) names.push_back(std::move(name));
  auto hint = did_you_mean(text, names);
  if (hint.empty()) hint = fmt::format("grids are {}", fmt::join(grids, ", "));
  throw LookupError({.id = "mlsysim.engine.035",
                     .message = fmt::format("there is no region '{}'", text),
                     .key = "region",
                     .found = fmt::format("'{}'", text),
                     .expected = "the name of a grid or of a datacenter",
                     .hint = std::move(hint),
                     .where = where});
}

bool is_release(std::string_view text) { return !names_a_file(text) && !release_name(text).version.empty(); }

/// The engine of a plan, which may name a release that nobody has described.
Release release_of(const Zoo& zoo, std::string_view text, const Location& where) {
  try {
    return release_or_nearest(zoo, text);
  } catch (Error& error) {
    error.add_context(fmt::format("in 'engine' at {}", where.text()));
    throw;
  }
}

/// A count that was asked for beside a machine that has its own.
void must_agree(const std::optional<double>& asked, double own, std::string_view key,
                std::string_view machine, const Location& where) {
  if (asked && *asked != own)
    throw InputError("mlsysim.engine.033", fmt::format("'{}' contradicts '{}'", key, machine),
                     std::string(key), fmt::format("{}", *asked), fmt::format("{}, as {} has", own, machine),
                     fmt::format("leave {} out, or name the device instead", key), where);
}

/// "8xH100": so many devices, or nodes.
void take_count(const Machine& machine, std::string_view text, const Location& where, Scenario& s) {
  if (machine.fleet != nullptr || machine.pod != nullptr)
    throw InputError("mlsysim.engine.204", "several of a cluster are no machine", "hardware",
                     fmt::format("'{}'", text), "a number of devices or nodes, e.g. 8xH100",
                     "name the cluster alone, or the device and how many", where);
  auto& stated = machine.node != nullptr ? s.node_count : s.accelerators;
  must_agree(stated, machine.times, machine.node != nullptr ? "node_count" : "accelerators", text, where);
  stated = machine.times;
}

/// Takes from the entry of a rack what it says of its devices, which share one domain of links.
void take_rack(const HardwareNode& rack, Scenario& s, BuiltScenario& out) {
  const HardwareNode& part = *rack.part;
  const double held = devices_in(rack);
  out.assumptions.push_back(
      {"rack", AssumedValue::exact(held), fmt::format("{} holds so many {}", rack.name, part.name)});
  if (!s.unit_cost && !part.unit_cost && rack.unit_cost) {
    s.unit_cost = *rack.unit_cost / held;
    out.assumptions.push_back({"unit_cost", AssumedValue::of(s.unit_cost->base(), dim::money::exps),
                               fmt::format("the price of {} over {:g} devices", rack.name, held)});
  }
  if (reference_node(part) == nullptr && !s.accelerators_per_node) s.accelerators_per_node = held;
}

/// Refuses texts for fields that have no effect in the mode of the scenario, or without a draft model.
template <class Texts> void refuse_idle(const Texts& texts, const Scenario& s) {
  if (s.workload == nullptr || (s.hardware == nullptr && s.fleet == nullptr)) return;  // no mode is known yet
  Notes quiet;
  std::optional<Mode> known = s.mode;
  try {
    if (!known) known = ResolvedScenario(s, quiet).mode();
  } catch (const DomainError&) {  // degrees for more devices than there are: whoever answers says so
    return;
  }
  const Mode mode = *known;
  for (const auto& [name, given] : texts) {
    const auto& place = detail::plan_place(name);
    if (place.used_in(mode)) continue;
    std::vector<std::string_view> modes;
    for (const Mode other : {Mode::infer, Mode::serve, Mode::train})
      if (place.used_in(other)) modes.push_back(name_of(other));
    throw InputError("mlsysim.engine.038", fmt::format("'{}' has no effect in mode {}", name, name_of(mode)),
                     name, fmt::format("{} {}", name, given.text),
                     fmt::format("mode {}", fmt::join(modes, " or ")), "leave it out, or change the mode",
                     given.where);
  }
  for (const auto& [name, given] : texts)
    if (s.draft_model == nullptr && detail::plan_place(name).draft)
      throw InputError("mlsysim.engine.039", fmt::format("'{}' has no effect without a draft model", name),
                       name, fmt::format("{} {}", name, given.text), "draft_model beside it",
                       "name a draft_model, or leave it out", given.where);
}

/// Whether a draft is named by its kind, or as a head on a hub; a file is none.
bool is_head(std::string_view text) {
  const auto kind = detail::head_in(text);
  if (kind.empty() || kind == text) return !kind.empty();
  const bool file =
      text.ends_with(".json") || text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".gguf");
  return text.find('/') != std::string_view::npos && !file;
}

/// A draft that is a head of the model: one that is named by its kind, or an acceptance length that was
/// measured and no model beside it.
template <class Texts> void take_head(const Texts& texts, Keep& keep, BuiltScenario& out) {
  Scenario& s = out.scenario;
  if (s.draft_model != nullptr || s.workload == nullptr) return;
  const auto named = texts.find("draft_model");
  if (named == texts.end() && !s.acceptance_length) return;
  auto head =
      detail::draft_head(named == texts.end() ? "eagle" : detail::head_in(named->second.text), *s.workload);
  if (!head) return;
  keep.heads.push_back(std::move(head->model));
  s.draft_model = &keep.heads.back();
  out.warnings.push_back(std::move(head->note));
}

/// The model without its towers, where they do not lie in memory: it reads no images and no sound.
void drop_towers(Keep& keep, BuiltScenario& out) {
  Scenario& s = out.scenario;
  if (s.towers.value_or(true) || s.workload == nullptr) return;
  const auto tower = [](const Stack& stack) { return stack.role == StackRole::tower; };
  if (std::none_of(s.workload->stacks.begin(), s.workload->stacks.end(), tower)) {
    out.warnings.push_back(fmt::format("no effect, as {} has none: towers", s.workload->name));
    return;
  }
  auto& words = keep.heads.emplace_back(*s.workload);
  std::erase_if(words.stacks, tower);
  s.workload = &words;
}

/// Takes formats and notes from the name of a model that is neither an entry's name nor its alias.
void take_name(std::string_view text, bool has_weights, bool has_cache, const Zoo& zoo, BuiltScenario& out) {
  Scenario& s = out.scenario;
  if (s.workload == nullptr || text.starts_with('{') || s.workload->name == text) return;
  if (const Entry* entry = s.workload->entry;
      entry == nullptr ||
      std::find(entry->aliases.begin(), entry->aliases.end(), text) != entry->aliases.end())
    return;
  const auto named = detail::model_of(text, zoo);
  if (named.entry != s.workload->name) return;
  for (const auto& note : named.notes) out.warnings.push_back(note);
  if (s.mode == Mode::train) return;
  if (!has_weights && !named.weight_format.empty())
    s.weight_format = choice_of<WeightFormat>(named.weight_format);
  if (!has_cache && !named.cache_format.empty()) s.kv_precision = choice_of<Precision>(named.cache_format);
}

/// Says how many positions the checkpoint of this name has where its entry has others.
void say_positions(std::string_view text, const Workload& model, const Zoo& zoo, BuiltScenario& out) {
  const auto* entry = zoo.find<Workload>(detail::model_of(text, zoo).entry);
  if (entry == nullptr || entry->name != model.name || model.max_positions == entry->max_positions) return;
  out.warnings.push_back(fmt::format(
      "'{}' takes at most {:g} tokens; {} of the zoo takes {}", text, model.max_positions.value_or(0),
      entry->name,
      entry->max_positions ? fmt::format("{:g}", *entry->max_positions) : std::string("any number")));
}

}  // namespace

std::vector<std::string_view> fields_used_in(Mode mode) {
  std::vector<std::string_view> out;
  for (const auto& p : detail::plan_places())
    if (p.used_in(mode)) out.push_back(p.field);
  return out;
}

ScenarioBuilder::ScenarioBuilder(const Zoo& zoo) : zoo_(&zoo) {}

ScenarioBuilder& ScenarioBuilder::set(std::string_view field, std::string_view text, const Location& where) {
  const FieldInfo* found = find_field(describe<Scenario>(), field);
  if (found == nullptr) {
    std::vector<std::string> names;
    for (const auto& f : describe<Scenario>()) names.push_back(f.name);
    throw LookupError(unknown_name("mlsysim.engine.034", fmt::format("a scenario has no field '{}'", field),
                                   field, names, "a field of the table of Scenario", where));
  }
  texts_.insert_or_assign(std::string(found->name), Text{std::string(text), where});
  // A number of requests under the name of a load says which load it is.
  if (field != found->name && (field == name_of(Load::concurrency) || field == name_of(Load::burst)))
    texts_.insert_or_assign("load", Text{std::string(field), where});
  return *this;
}

ScenarioBuilder& ScenarioBuilder::region(std::string_view text, const Location& where) {
  region_ = {std::string(text), where};
  return *this;
}

std::string_view ScenarioBuilder::text_of(std::string_view field) const {
  const auto found = texts_.find(field);
  return found == texts_.end() ? std::string_view() : std::string_view(found->second.text);
}

void ScenarioBuilder::check(std::string_view field, std::string_view text, const Location& where) const {
  FieldReader reader(*zoo_);
  if (field == "hardware")
    (void)machine_of(reader, text, where);
  else if (field == "engine" && is_release(text))
    (void)release_of(*zoo_, text, where);
  else if (field != "draft_model" || !is_head(text))
    (void)reader.read(*find_field(describe<Scenario>(), field), text, where);
}

void ScenarioBuilder::check_region(std::string_view text, const Location& where) const {
  (void)region_of(*zoo_, text, where);
}

BuiltScenario ScenarioBuilder::build() const {
  auto keep = std::make_shared<Keep>(*zoo_);
  BuiltScenario out;
  Scenario& s = out.scenario;
  const auto fields = describe<Scenario>();
  for (const auto& [name, given] : texts_) {
    if (name == "hardware" || (name == "draft_model" && is_head(given.text))) continue;
    if (name == "engine" && is_release(given.text)) {
      auto release = release_of(*zoo_, given.text, given.where);
      s.engine = release.engine;
      if (!release.stands_in.empty()) out.warnings.push_back(std::move(release.stands_in));
      continue;
    }
    const FieldInfo& field = *find_field(fields, name);
    write_checked(field, &s, keep->reader.read(field, given.text, given.where));
  }
  if (const auto asked = texts_.find("workload"); asked != texts_.end()) {
    take_name(asked->second.text, texts_.contains("weight_format"), texts_.contains("kv_precision"), *zoo_,
              out);
    say_positions(asked->second.text, *s.workload, *zoo_, out);
  }
  drop_towers(*keep, out);
  if (!region_.text.empty()) {
    const Region region = region_of(*zoo_, region_.text, region_.where);
    if (region.grid != nullptr)
      s.grid = region.grid;
    else
      s.datacenter = region.datacenter;
  }
  if (const auto asked = texts_.find("hardware"); asked != texts_.end()) {
    const auto& [text, where] = asked->second;
    if (s.fleet != nullptr)
      throw InputError("mlsysim.engine.036", "hardware and fleet are both given", "fleet",
                       fmt::format("hardware '{}' and fleet '{}'", text, s.fleet->name), "one of the two",
                       "a fleet brings its hardware: leave one out", where);
    const Machine machine = machine_called(*keep, text, where, out);
    if (machine.times != 1) take_count(machine, text, where, s);
    if (machine.rack != nullptr) take_rack(*machine.rack, s, out);
    if (machine.device != nullptr) s.hardware = machine.device;
    if (machine.fleet != nullptr) s.fleet = machine.fleet;
    const Node* node = machine.node;
    if (machine.pod != nullptr) node = host_of(*machine.pod, *keep, out);
    const double several = machine.pod != nullptr ? machine.pod->chips / node->accelerators_per_node : 1;
    if (node != nullptr) {
      must_agree(s.accelerators_per_node, node->accelerators_per_node, "accelerators_per_node", node->name,
                 where);
      double count = s.node_count.value_or(1) * several;
      if (s.accelerators && !s.node_count) count = *s.accelerators / node->accelerators_per_node;
      if (std::floor(count) != count ||
          (s.accelerators && *s.accelerators != count * node->accelerators_per_node))
        throw InputError("mlsysim.engine.037",
                         fmt::format("the devices do not fill nodes of '{}'", node->name), "accelerators",
                         fmt::format("{} accelerators", *s.accelerators),
                         fmt::format("node_count x {}", node->accelerators_per_node),
                         "change the number, or name the device instead", where);
      keep->fleets.push_back({.name = machine.pod != nullptr && count == several ? machine.pod->name
                                      : count > 1 ? fmt::format("{} x {}", count, node->name)
                                                  : node->name,
                              .node = node,
                              .count = count});
      s.fleet = &keep->fleets.back();
      s.accelerators.reset();
      s.node_count.reset();
      s.accelerators_per_node.reset();
    }
  }
  if (s.fleet != nullptr && s.fleet->node != nullptr) {
    must_agree(s.accelerators, s.fleet->total_accelerators(), "accelerators", s.fleet->name, {});
    must_agree(s.node_count, s.fleet->count, "node_count", s.fleet->name, {});
    must_agree(s.accelerators_per_node, s.fleet->node->accelerators_per_node, "accelerators_per_node",
               s.fleet->name, {});
  }
  take_head(texts_, *keep, out);
  refuse_idle(texts_, s);
  out.keep = std::move(keep);
  return out;
}

template const TableInfo& field_table<Scenario>();

}  // namespace mlsysim
