#include <mlsysim/report/zoo_report.hpp>

#include <mlsysim/report/detail/text_layout.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include "detail/json_value.hpp"

#include <mlsysim/specs/software.hpp>
#include <mlsysim/units/detail/lower.hpp>
#include <mlsysim/units/detail/quoted.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/schema.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace mlsysim {
namespace {

using detail::Json;
using Cell = Table::Cell;

template <class Q> Cell cell(const std::optional<Q>& q) { return q ? Cell(*q) : Cell(); }
Cell name_or_blank(const auto* object) { return object == nullptr ? Cell() : Cell(object->name); }

Cell best_rate(const HardwareNode& h) {
  const auto& rate = h.compute.dense[h.compute.default_precision];
  return rate ? Cell(*rate) : Cell();
}

void hardware(Table& t, const Zoo& zoo) {
  t.columns = {{"name"},
               {"category"},
               {"year"},
               {"peak", "TFLOP/s", "dense rate at the default precision"},
               {"at", "", "default precision"},
               {"memory", "GB", "main memory"},
               {"bandwidth", "GB/s", "of the main memory"},
               {"tdp", "W"},
               {"precisions"}};
  for (const auto* h : zoo.all<HardwareNode>())
    t.rows.push_back({h->name, h->category, cell(h->release_year), best_rate(*h),
                      name_of(h->compute.default_precision), cell(h->memory.capacity),
                      cell(h->memory.bandwidth), cell(h->power.tdp),
                      fmt::format("{}", fmt::join(h->compute.dense.names(), " "))});
}

void models(Table& t, const Zoo& zoo) {
  t.columns = {{"name"},
               {"category"},
               {"architecture"},
               {"parameters", "Gparam"},
               {"active", "Gparam", "parameters that one token uses"},
               {"layers"},
               {"context", "", "longest context"},
               {"year"}};
  for (const auto* w : zoo.all<Workload>())
    t.rows.push_back({w->name, w->category, name_of(w->architecture), cell(w->parameters),
                      cell(w->active_parameters), cell(w->layers()), cell(w->max_positions),
                      cell(w->release_year)});
}

void systems(Table& t, const Zoo& zoo, std::string_view kind) {
  if (kind == "node") {
    t.columns = {{"name"},    {"accelerator"},
                 {"devices"}, {"intra_node_bandwidth", "GB/s", "one way, per device"},
                 {"nics"},    {"nic_bandwidth", "Gbit/s", "one way"}};
    for (const auto* n : zoo.all<Node>())
      t.rows.push_back({n->name, name_or_blank(n->accelerator), n->accelerators_per_node,
                        cell(n->intra_node_bandwidth), cell(n->nics_per_node), cell(n->nic_bandwidth)});
  } else if (kind == "cluster") {
    t.columns = {{"name"}, {"node"}, {"nodes"}, {"accelerators"}, {"fabric"}, {"grid"}, {"datacenter"}};
    for (const auto* f : zoo.all<Fleet>())
      t.rows.push_back({f->name, name_or_blank(f->node), f->count, f->total_accelerators(),
                        name_or_blank(f->fabric), name_or_blank(f->grid), name_or_blank(f->datacenter)});
  } else if (kind == "fabric") {
    t.columns = {{"name"},
                 {"topology"},
                 {"bandwidth", "GB/s", "one way, per port"},
                 {"latency", "us"},
                 {"oversubscription"}};
    for (const auto* f : zoo.all<NetworkFabric>())
      t.rows.push_back({f->name, f->topology, cell(f->bandwidth), cell(f->latency), f->oversubscription});
  } else if (kind == "grid") {
    t.columns = {{"name"}, {"carbon_intensity", "gCO2e/kWh"}, {"basis"}, {"year"}};
    for (const auto* g : zoo.all<GridProfile>())
      t.rows.push_back({g->name, g->carbon_intensity, g->basis, cell(g->year)});
  } else if (kind == "datacenter") {
    t.columns = {{"name"}, {"grid"}, {"pue"}, {"wue", "L/kWh"}};
    for (const auto* d : zoo.all<Datacenter>())
      t.rows.push_back({d->name, name_or_blank(d->grid), d->pue, cell(d->wue)});
  } else if (kind == "engine") {
    t.columns = {{"name"},
                 {"version"},
                 {"host_step", "ms"},
                 {"host_request", "us"},
                 {"request_time", "ms"},
                 {"prefill_issue", "us"},
                 {"prompt_layer", "ms"},
                 {"beside"},
                 {"mixed"},
                 {"lookahead"}};
    for (const auto* e : zoo.all<ServingEngine>())
      t.rows.push_back({e->name, e->version, e->host_step, e->host_request, e->request_time,
                        cell(e->prefill_issue), cell(e->prompt_layer), e->beside ? "yes" : "no",
                        e->mixed ? "yes" : "no", e->lookahead});
  } else if (kind == "pod") {
    t.columns = {{"name"}, {"accelerator"}, {"chips"}, {"topology"}};
    for (const auto* p : zoo.all<Pod>())
      t.rows.push_back({p->name, name_or_blank(p->accelerator), p->chips, p->topology});
  } else {
    t.columns = {{"name"}, {"value"}, {"title"}};
    for (const auto* e : zoo.entries()) {
      if (e->kind != kind) continue;
      const Figure* value = e->figure("value");
      t.rows.push_back({e->name, value != nullptr ? Cell(value->authored) : Cell(), e->title});
    }
  }
}

std::string date_of(const Source& s) {
  if (!s.verified.empty()) return "read " + s.verified;
  return s.recorded.empty() ? "no date" : "recorded " + s.recorded;
}

std::string source_words(const Source& s) {
  auto out = fmt::format("{}: {} ({})", name_of(s.kind), s.ref.empty() ? "no reference" : s.ref, date_of(s));
  if (!s.formula.empty()) out += "; " + s.formula;
  if (!s.note.empty()) out += "; " + s.note;
  return out;
}

Json source_json(const Zoo& zoo, const Source& s) {
  Json out{{"kind", name_of(s.kind)}, {"ref", s.ref}};
  if (const auto* reference = zoo.find_reference(s.ref)) {
    out["citation"] = reference->text;
    if (!reference->url.empty()) out["url"] = reference->url;
  }
  if (!s.verified.empty()) out["verified"] = s.verified;
  if (!s.recorded.empty()) out["recorded"] = s.recorded;
  if (!s.note.empty()) out["note"] = s.note;
  if (!s.formula.empty()) out["formula"] = s.formula;
  if (s.spread) out["spread"] = *s.spread;
  return out;
}

std::string entry_json(const Zoo& zoo, const Entry& e) {
  Json out{{"schema", "mlsysim/entry@1"},
           {"kind", e.kind},
           {"name", e.name},
           {"title", e.title},
           {"aliases", e.aliases},
           {"origin", e.origin},
           {"source", source_json(zoo, e.source)},
           {"figures", Json::object()}};
  for (const auto& f : e.figures) {
    Json one{{"authored", f.authored}, {"base_value", detail::json_number(f.base)}};
    if (f.low) one["base_low"] = *f.low;
    if (f.high) one["base_high"] = *f.high;
    if (f.own) one["source"] = source_json(zoo, *f.own);
    out["figures"][f.path] = std::move(one);
  }
  if (!e.notes.empty()) out["notes"] = e.notes;
  out["decisions"] = Json::array();
  for (const auto& d : e.decisions)
    out["decisions"].push_back({{"field", d.field},
                                {"took", name_of(d.took)},
                                {"instead_of", d.instead_of},
                                {"why", d.why},
                                {"ref", d.ref}});
  return detail::json_document(out);
}

/// The families of kernels that a runtime uses, of each kind the nearest that it or what it extends names.
std::string families_of(const ServingEngine& runtime) {
  std::string out;
  for_each_field<ServingEngine>([&]<class M>(const Field<ServingEngine, M>& row) {
    if constexpr (std::is_same_v<M, const KernelFamily*>)
      if (const auto* family = stated(runtime, row.member))
        out += fmt::format("{}{} {}", out.empty() ? "" : ", ", row.name, family->name);
  });
  return out;
}

/// The path of a figure of a family with what its row is about in place of the row's number: "hopper (H100):
/// kernels.wave, x 1 / compute.clock".
std::string path_of_row(const KernelFamily& family, const std::string& path) {
  const auto open = path.find('['), close = path.find("].");
  if (open == std::string::npos || close == std::string::npos) return path;
  std::size_t i = 0;
  (void)std::from_chars(path.data() + open + 1, path.data() + close, i);
  const auto list = std::string_view(path).substr(0, open);
  const auto last = path.substr(close + 2);
  if (list == "experts") {
    const auto& row = family.experts.at(i);
    return fmt::format("{} {} as {}: {}", row.generation->name, name_of(row.format), name_of(row.multiplies),
                       last);
  }
  if (list == "products") {
    const auto& row = family.products.at(i);
    return fmt::format("{} {}: {}", row.generation->name, name_of(row.multiplies), last);
  }
  const auto& row = family.generations.at(i);
  const auto devices = fmt::format("{}", fmt::join(row.devices, ", "));
  auto about = row.generation == nullptr ? devices : row.generation->name;
  if (row.generation != nullptr && !devices.empty()) about += fmt::format(" ({})", devices);
  if (!last.starts_with("rules[")) return fmt::format("{}: {}", about, last);
  std::size_t r = 0;
  (void)std::from_chars(last.data() + last.find('[') + 1, last.data() + last.size(), r);
  return fmt::format("{}: {}, x {}", about, row.rules.at(r).figure, row.rules.at(r).of);
}

/// The launch list of a runtime: what each operation becomes.
Table launch_table(const ServingEngine& runtime) {
  Table out{.schema = "mlsysim/table@1",
            .columns = {{"operation"},
                        {"direction"},
                        {"kernel"},
                        {"what"},
                        {"over"},
                        {"reads"},
                        {"writes"},
                        {"times"},
                        {"operators"},
                        {"modules"},
                        {"when"}}};
  for (const auto& p : runtime.launches) {
    const bool own = p.kernel == LaunchKernel::own;
    out.rows.push_back({p.operation, name_of(p.direction), name_of(p.kernel), p.name,
                        own ? std::string() : std::string(name_of(p.over)), own ? Cell() : Cell(p.reads),
                        own ? Cell() : Cell(p.writes), p.times, p.operators, p.modules,
                        p.when == LaunchWhen::always ? std::string() : std::string(name_of(p.when))});
  }
  return out;
}

std::string entry_text(const Zoo& zoo, const Entry& e, const RenderOptions& o) {
  const bool markdown = o.format == OutputFormat::markdown;
  std::string out =
      markdown
          ? fmt::format("# {} ({})\n\n", e.name, e.kind)
          : detail::painted(fmt::format("{} ({})", e.name, e.kind), detail::Paint::bold, o.colour) + "\n";
  const auto fact = [&](std::string_view label, const std::string& text) {
    if (text.empty()) return;
    out += markdown ? fmt::format("- {}: {}\n", label, text) : fmt::format("  {:<9} {}\n", label, text);
  };
  fact("title", e.title);
  fact("aliases", fmt::format("{}", fmt::join(e.aliases, ", ")));
  fact("origin", e.origin);
  fact("source", source_words(e.source));
  if (const auto* reference = zoo.find_reference(e.source.ref)) {
    fact("citation", reference->text);
    fact("url", reference->url);
  }
  if (e.shape_source) fact("sizes", source_words(*e.shape_source));
  for (const auto& note : e.notes) fact("note", note);
  const auto* runtime = e.kind == "engine" ? zoo.find<ServingEngine>(e.name) : nullptr;
  const auto* family = e.kind == "kernel_family" ? zoo.find<KernelFamily>(e.name) : nullptr;
  const bool software = runtime != nullptr || family != nullptr;
  if (runtime != nullptr) fact("kernels", families_of(*runtime));
  Table figures{.schema = "mlsysim/table@1", .columns = {{"figure"}, {"value"}, {"source"}}};
  std::vector<std::string_view> listed;
  const auto add = [&](const Entry& from) {
    const std::string as = &from == &e ? std::string() : fmt::format(" (as {})", from.name);
    const std::size_t nearer = listed.size();
    for (const auto& f : from.figures) {
      const auto end = listed.begin() + static_cast<std::ptrdiff_t>(nearer);
      if (f.path.starts_with("launches[") || std::find(listed.begin(), end, f.path) != end) continue;
      listed.push_back(f.path);
      const auto source = f.own ? source_words(*f.own) : std::string(software ? "as the entry" : "");
      figures.rows.push_back(
          {family != nullptr ? path_of_row(*family, f.path) : f.path, f.authored, source + as});
    }
  };
  add(e);
  if (runtime != nullptr)
    for (const auto* r = runtime->extends; r != nullptr; r = r->extends)
      if (r->entry != nullptr) add(*r->entry);
  if (!figures.rows.empty()) out += "\n" + render(figures, o);
  if (runtime != nullptr) {
    if (runtime->extends != nullptr)
      out += fmt::format("\nextends {}: what is not stated here is as there\n", runtime->extends->name);
    if (!runtime->launches.empty()) out += "\n" + render(launch_table(*runtime), o);
  }
  if (!e.decisions.empty()) out += "\n";
  for (const auto& d : e.decisions) {
    auto line = fmt::format("{}: {}", d.field, d.why);
    if (!d.instead_of.empty()) line += fmt::format(" (not taken: {})", d.instead_of);
    fact("decided", line);
  }
  return out;
}

std::string entry_csv(const Entry& e) {
  std::string out = "figure,value,base_value,kind,ref\n";
  for (const auto& f : e.figures) {
    const Source& s = e.source_of(f.path);
    out += fmt::format("{},{},{},{},{}\n", detail::csv_field(f.path), detail::csv_field(f.authored),
                       format_exact(f.base), name_of(s.kind), detail::csv_field(s.ref));
  }
  return out;
}

}  // namespace

namespace {

/// Other names of the kinds of entries, in the singular.
constexpr auto kCalled =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"device", "hardware"},
                                                                  {"gpu", "hardware"},
                                                                  {"tpu", "hardware"},
                                                                  {"cpu", "hardware"},
                                                                  {"chip", "hardware"},
                                                                  {"accelerator", "hardware"},
                                                                  {"class", "device_class"},
                                                                  {"llm", "model"},
                                                                  {"workload", "model"},
                                                                  {"runtime", "engine"},
                                                                  {"framework", "engine"},
                                                                  {"kernel", "kernel_family"},
                                                                  {"machine", "node"},
                                                                  {"server", "node"},
                                                                  {"instance", "node"},
                                                                  {"network", "fabric"},
                                                                  {"fleet", "cluster"},
                                                                  {"default", "convention"}});

/// The kind that a word means, in the singular or the plural: "models", "gpus". A word for none stays.
std::string kind_called(std::string_view word, const std::vector<std::string>& kinds) {
  const auto known = [&](const std::string& name) {
    return std::find(kinds.begin(), kinds.end(), name) != kinds.end();
  };
  std::string wanted(word);
  if (known(wanted)) return wanted;
  if (wanted.ends_with("ies"))
    wanted.replace(wanted.size() - 3, 3, "y");
  else if (wanted.ends_with("sses"))
    wanted.resize(wanted.size() - 2);
  else if (wanted.ends_with('s') && !wanted.ends_with("ss"))
    wanted.pop_back();
  for (const auto& [name, own] : kCalled)
    if (wanted == name) return std::string(own);
  return wanted;
}

}  // namespace

Table zoo_table(const Zoo& zoo, std::string_view kind) {
  if (kind.empty()) {
    auto table = entry_table(zoo.entries());
    table.title = "zoo";
    return table;
  }
  const auto kinds = zoo_kinds();
  const auto wanted = kind_called(kind, kinds);
  if (std::find(kinds.begin(), kinds.end(), wanted) == kinds.end() || wanted == "references" ||
      wanted == "reference") {
    if (kind != "references")
      throw LookupError(
          unknown_name("mlsysim.report.001", fmt::format("the zoo has no kind '{}'", kind), kind, kinds));
    Table out{.schema = "mlsysim/table@1", .title = "references", .columns = {{"key"}, {"text"}, {"url"}}};
    for (const auto* r : zoo.references()) out.rows.push_back({r->key, r->text, r->url});
    return out;
  }
  Table out{.schema = "mlsysim/table@1", .title = wanted};
  if (wanted == "hardware")
    hardware(out, zoo);
  else if (wanted == "model")
    models(out, zoo);
  else
    systems(out, zoo, wanted);
  return out;
}

std::vector<const Entry*> search_zoo(const Zoo& zoo, std::string_view words) {
  const auto wanted = detail::lower(words);
  std::vector<std::pair<int, const Entry*>> hits;
  for (const auto* e : zoo.entries()) {
    int best = 1000;
    auto names = e->aliases;
    names.push_back(e->name);
    for (const auto& name : names) {
      if (detail::lower(name) == wanted)
        best = std::min(best, 0);
      else if (detail::lower(name).find(wanted) != std::string::npos)
        best = std::min(best, 1);
      else if (!near_misses(words, std::vector<std::string>{name}).empty())
        best = std::min(best, 10 + edit_distance(words, name));
    }
    if (best > 2 && detail::lower(e->title).find(wanted) != std::string::npos) best = 2;
    if (best < 1000) hits.emplace_back(best, e);
  }
  std::stable_sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const bool exact = !hits.empty() && hits.front().first <= 2;
  std::vector<const Entry*> out;
  for (const auto& [rank, entry] : hits)
    if (!exact || rank <= 2) out.push_back(entry);
  return out;
}

Table entry_table(std::span<const Entry* const> entries) {
  Table out{.schema = "mlsysim/table@1", .title = "entries", .columns = {{"name"}, {"kind"}, {"title"}}};
  for (const auto* e : entries) out.rows.push_back({e->name, e->kind, e->title});
  return out;
}

std::string render(const Zoo& zoo, const Entry& entry, const RenderOptions& options) {
  if (options.format == OutputFormat::json) return entry_json(zoo, entry);
  if (options.format == OutputFormat::csv) return entry_csv(entry);
  return entry_text(zoo, entry, options);
}

}  // namespace mlsysim
