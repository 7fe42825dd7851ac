#include <mlsysim/plugin/host.hpp>

#include "detail/candidates.hpp"
#include "detail/formats.hpp"

#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/standard_units.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>

namespace mlsysim::plugin {

using namespace detail;  // NOLINT: the private half of this room

class PluginHost::Impl {
 public:
  explicit Impl(HostOptions options)
      : options_(std::move(options)), services_(std::make_shared<LocalServices>(options_.log)) {
    // A host may be static. What it withdraws from never dies, but for the units that ship, of which every
    // plugin has a table of its own that must go with it: made before the host, those of this program end
    // after it.
    (void)shipped_units();
  }
  ~Impl() {
    std::vector<Loaded> none;
    std::vector<std::pair<Loaded, PluginFailure>> refused;
    try {
      publish(none, services_->objects(), refused);
    } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor has nobody to report to
    }
    for (const auto& p : loaded_) retire(p);
    loaded_.clear();
  }

  void discover() {
    const std::lock_guard lock(mutex_);
    candidates_.look(options_);
  }

  void inspect() {
    const std::lock_guard lock(mutex_);
    candidates_.look(options_);
    auto isolated = options_;
    isolated.isolation = Isolation::always;
    for (auto& c : candidates_.all()) {
      if (c.record.state != PluginState::found || record_of(c).state != PluginState::found) continue;
      try {
        if (c.manifest) {
          vet(c, options_);
          c.record.state = PluginState::vetted;
        } else {
          std::vector<Loaded> next;
          next.push_back(open(c, isolated));
          (void)take(std::move(next));
        }
      } catch (const std::exception& error) {
        candidates_.refuse(c.record, error, c.manifest ? "vet" : "open");
      }
    }
  }

  [[nodiscard]] std::vector<PluginRecord> records() const {
    const std::lock_guard lock(mutex_);
    std::vector<PluginRecord> out;
    for (const auto& c : candidates_.all()) out.push_back(record_of(c));
    for (const auto& p : loaded_)
      if (std::none_of(out.begin(), out.end(),
                       [&](const PluginRecord& r) { return same_file(r, p.candidate.record); }))
        out.push_back(p.candidate.record);
    return out;
  }
  std::string load(const std::string& name_or_path, const Placement& how) {
    const std::lock_guard lock(mutex_);
    if (!candidates_.looked()) candidates_.look(options_);
    const bool path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".so") ||
                      name_or_path.ends_with(".yaml");
    if (!path)
      if (auto* known = find(name_or_path)) return use(*known, how);
    Candidate candidate = path ? candidate_at(name_or_path) : candidates_.by_name(name_or_path);
    for (auto& p : loaded_) {
      if (same_file(p.candidate.record, candidate.record)) return use(p, how);
    }
    std::vector<Loaded> next;
    try {
      next.push_back(open(candidate, with(how)));
    } catch (const std::exception& error) {
      candidates_.refuse(candidate.record, error);
      throw;
    }
    return take(std::move(next)).front();
  }

  LoadReport load_all(const Placement& how) {
    const std::lock_guard lock(mutex_);
    if (!candidates_.looked()) candidates_.look(options_);
    LoadReport report;
    std::vector<Loaded> fresh;
    auto order = candidates_.all();
    std::stable_sort(order.begin(), order.end(),
                     [](const Candidate& a, const Candidate& b) { return a.record.name < b.record.name; });
    for (auto& c : order) {
      if (c.record.state == PluginState::skipped) continue;
      const auto known = std::find_if(loaded_.begin(), loaded_.end(), [&](const Loaded& p) {
        return same_file(p.candidate.record, c.record);
      });
      if (known != loaded_.end()) {
        try {
          check_isolation(*known, how);
        } catch (const std::exception& error) {
          report.failed.push_back(known->candidate.record);
          report.failed.back().failure = failure_of(error, "load");
        }
        continue;
      }
      try {
        fresh.push_back(open(c, with(how)));
      } catch (const std::exception& error) {
        candidates_.refuse(c.record, error);
        report.failed.push_back(c.record);
      }
    }
    std::vector<std::pair<Loaded, PluginFailure>> refused;
    std::vector<std::string> names;
    for (const auto& p : fresh) names.push_back(p.name());
    settle(std::move(fresh), refused);
    for (auto& [p, failure] : refused) {
      p.candidate.record.failure = failure;
      p.candidate.record.state = PluginState::refused;
      candidates_.remember(p.candidate.record);
      report.failed.push_back(p.candidate.record);
    }
    for (const auto& name : names)
      if (find(name) != nullptr) report.loaded.push_back(name);
    return report;
  }

  void unload(const std::string& name) {
    const std::lock_guard lock(mutex_);
    auto& p = at(name);
    if (--p.uses > 0) return;
    auto record = p.candidate.record;
    record.state = PluginState::shut_down;
    candidates_.remember(record);
    const Loaded gone = p;
    std::erase_if(loaded_, [&](const Loaded& l) { return l.name() == name; });
    std::vector<std::pair<Loaded, PluginFailure>> refused;
    publish(loaded_, services_->objects(), refused);
    retire(gone);
  }

  ReloadReport reload(const std::string& name) {
    const std::lock_guard lock(mutex_);
    auto& old = at(name);
    Candidate candidate = old.candidate;
    if (!candidate.record.manifest.empty()) candidate = candidate_at(candidate.record.manifest);
    candidate.record.source = old.candidate.record.source;
    candidate.named = old.candidate.named;
    candidate.record.state = PluginState::found;
    candidate.record.failure.reset();
    auto how = options_;
    how.limits = old.limits;
    if (old.candidate.record.isolated) how.isolation = Isolation::always;
    Loaded fresh = open_candidate(std::move(candidate), how, services_, true);
    if (fresh.name() != name)
      fail(MLS_FAILED_PRECONDITION,
           {.id = "mlsysim.plugin.100",
            .message = fmt::format("the file of '{}' holds another plugin now", name),
            .key = name,
            .found = fmt::format("'{}'", fresh.name()),
            .expected = fmt::format("'{}'", name),
            .hint = "unload the one and load the other"},
           name, "reload");
    ReloadReport report{old.description.version, fresh.description.version, true, {}};
    report.old_code = old.code == nullptr ? "there is none" : old.code->why_it_stays();
    report.old_code = report.old_code.empty()              ? "old code is unloaded when its last run ends"
                      : report.old_code == "there is none" ? report.old_code
                                                           : "old code stays mapped: " + report.old_code;
    // The resolver objects stay and get the new code, so that existing pipelines see it in their next run.
    bool same = fresh.description.resolvers.size() == old.resolvers.size() &&
                fresh.description.zoo.size() == old.description.zoo.size();
    for (std::size_t i = 0; same && i < old.resolvers.size(); ++i)
      same = fresh.description.resolvers[i].name == old.resolvers[i]->info().name;
    std::vector<std::pair<std::shared_ptr<PluginResolver>, std::shared_ptr<Generation>>> before;
    const auto restore = [&] {
      for (const auto& [resolver, generation] : before) (void)resolver->replace(generation);
    };
    for (std::size_t i = 0; same && i < old.resolvers.size(); ++i) {
      before.emplace_back(old.resolvers[i], old.resolvers[i]->current());
      same = old.resolvers[i]->replace(std::make_shared<Generation>(fresh.code, i));
    }
    if (!same) restore();
    report.same_interface = same;
    std::vector<Loaded> next;
    for (auto& p : loaded_)
      if (p.name() != name) next.push_back(p);
    if (same) fresh.resolvers = old.resolvers;
    fresh.uses = old.uses;
    next.push_back(std::move(fresh));
    std::vector<std::pair<Loaded, PluginFailure>> refused;
    auto previous = loaded_;
    publish(next, services_->objects(), refused);
    if (!refused.empty()) {
      restore();
      std::vector<std::pair<Loaded, PluginFailure>> ignored;
      publish(previous, services_->objects(), ignored);
      loaded_ = std::move(previous);
      const auto& f = refused.front().second;
      fail(f.code, {.id = "mlsysim.plugin.101", .message = f.message, .key = name, .hint = f.hint}, name,
           f.stage);
    }
    loaded_ = std::move(next);
    return report;
  }

  [[nodiscard]] const Loaded& loaded(const std::string& name) const {
    return const_cast<Impl*>(this)->at(name);
  }
  [[nodiscard]] std::mutex& mutex() const { return mutex_; }
  [[nodiscard]] const std::vector<Loaded>& all() const { return loaded_; }
  [[nodiscard]] ObjectTable& objects() const { return services_->objects(); }

 private:
  /// Registries that were published before keep the resolvers; they must not keep the code.
  static void retire(const Loaded& plugin) {
    for (const auto& r : plugin.resolvers) r->retire();
  }

  [[nodiscard]] HostOptions with(const Placement& how) const {
    auto out = options_;
    if (how.isolation != Isolation::as_asked) out.isolation = how.isolation;
    out.isolated.insert(out.isolated.end(), how.isolated.begin(), how.isolated.end());
    if (how.limits) out.limits = *how.limits;
    return out;
  }
  /// A loaded plugin cannot move to another process, so asking for isolation afterwards is an error.
  static void check_isolation(const Loaded& p, const Placement& how) {
    const bool named = std::find(how.isolated.begin(), how.isolated.end(), p.name()) != how.isolated.end();
    if ((how.isolation == Isolation::always || named) && !p.candidate.record.isolated && p.code != nullptr)
      fail(MLS_FAILED_PRECONDITION,
           {.id = "mlsysim.plugin.109",
            .message = fmt::format("the plugin '{}' runs in this process already", p.name()),
            .key = p.name(),
            .found = "one that was loaded without isolation",
            .expected = "a process of its own",
            .hint = "unload it first"},
           p.name(), "load");
  }
  /// One more user of a plugin that is loaded.
  static std::string use(Loaded& p, const Placement& how) {
    check_isolation(p, how);
    ++p.uses;
    return p.name();
  }

  [[nodiscard]] PluginRecord record_of(const Candidate& c) const {
    for (const auto& p : loaded_)
      if (same_file(p.candidate.record, c.record)) return p.candidate.record;
    return c.record;
  }
  Loaded* find(const std::string& name) {
    for (auto& p : loaded_)
      if (p.name() == name) return &p;
    return nullptr;
  }
  Loaded& at(const std::string& name) {
    if (auto* p = find(name)) return *p;
    std::vector<std::string> names;
    for (const auto& p : loaded_) names.push_back(p.name());
    throw LookupError(unknown_name("mlsysim.plugin.102", fmt::format("no plugin '{}' is loaded", name), name,
                                   names,
                                   names.empty() ? "a plugin that is loaded; there is none"
                                                 : fmt::format("one of {}", fmt::join(names, ", "))));
  }

  Loaded open(const Candidate& candidate, const HostOptions& options) {
    auto out = open_candidate(candidate, options, services_, false);
    if (auto odd = unknown_variables(out.description, candidates_.names()); !odd.empty()) {
      services_->log(MLS_LOG_WARNING, odd);
      auto& note = out.candidate.record.note;
      note += note.empty() ? odd : "; " + odd;
    }
    if (const auto* known = find(out.name())) {
      if (known->description.version != out.description.version)
        fail(MLS_ALREADY_EXISTS,
             {.id = "mlsysim.plugin.105",
              .message = fmt::format("the plugin '{}' is loaded in another version", out.name()),
              .key = out.name(),
              .found = fmt::format("{} from {}", out.description.version, place_of(out.candidate.record)),
              .expected =
                  fmt::format("{} from {}", known->description.version, place_of(known->candidate.record)),
              .hint = "unload the one first",
              .reason = BreakReason::version_mismatch},
             out.name(), "load");
      services_->log(MLS_LOG_WARNING,
                     fmt::format("the plugin '{}' {} is found twice; {} is used, {} is not", out.name(),
                                 out.description.version, place_of(known->candidate.record),
                                 place_of(out.candidate.record)));
    }
    return out;
  }

  void settle(std::vector<Loaded> fresh, std::vector<std::pair<Loaded, PluginFailure>>& refused) {
    auto next = loaded_;
    for (auto& p : fresh)
      if (std::none_of(next.begin(), next.end(), [&](const Loaded& l) { return l.name() == p.name(); }))
        next.push_back(std::move(p));
    publish(next, services_->objects(), refused);
    loaded_ = std::move(next);
  }

  std::vector<std::string> take(std::vector<Loaded> fresh) {
    std::vector<std::string> names;
    for (const auto& p : fresh) names.push_back(p.name());
    std::vector<std::pair<Loaded, PluginFailure>> refused;
    settle(std::move(fresh), refused);
    if (!refused.empty()) {
      auto record = refused.front().first.candidate.record;
      const auto& f = refused.front().second;
      record.failure = f;
      record.state = PluginState::refused;
      candidates_.remember(record);
      fail(f.code, {.id = "mlsysim.plugin.106", .message = f.message, .key = names.front(), .hint = f.hint},
           names.front(), f.stage);
    }
    return names;
  }

  HostOptions options_;
  std::shared_ptr<LocalServices> services_;
  mutable std::mutex mutex_;
  Candidates candidates_;
  std::vector<Loaded> loaded_;
};

PluginHost::PluginHost(HostOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
PluginHost::~PluginHost() = default;
void PluginHost::discover() { impl_->discover(); }
void PluginHost::inspect() { impl_->inspect(); }
std::vector<PluginRecord> PluginHost::records() const { return impl_->records(); }
std::string PluginHost::load(const std::string& name_or_path, const Placement& how) {
  return impl_->load(name_or_path, how);
}
LoadReport PluginHost::load_all(const Placement& how) { return impl_->load_all(how); }
void PluginHost::unload(const std::string& name) { impl_->unload(name); }
ReloadReport PluginHost::reload(const std::string& name) { return impl_->reload(name); }

PluginDescription PluginHost::description(const std::string& name) const {
  const std::lock_guard lock(impl_->mutex());
  return impl_->loaded(name).description;
}

bool PluginHost::has_feature(const std::string& name, std::string_view feature) const {
  const std::lock_guard lock(impl_->mutex());
  const auto& p = impl_->loaded(name);
  return p.code != nullptr && p.code->has_feature(feature);
}

std::vector<PluginHost::OptionValue> PluginHost::options_of(const std::string& name) const {
  const std::lock_guard lock(impl_->mutex());
  std::vector<OptionValue> out;
  for (const auto& r : impl_->loaded(name).resolvers) {
    const auto& options = r->current()->description().options;
    for (const auto& f : r->inputs())
      if (std::any_of(options.begin(), options.end(),
                      [&](const FieldDescription& o) { return o.name == f.name; }))
        out.push_back({r->info().name, f.name, DynamicValue(f.default_value, f.exps).text(),
                       std::string(f.default_source)});
  }
  return out;
}

namespace {

/// The code and place of something with this name, bare or whole, among a list of every plugin.
template <class List>
std::pair<std::shared_ptr<PluginCode>, std::size_t> find_named(const std::vector<Loaded>& plugins,
                                                               const std::string& name, const char* what,
                                                               List&& list) {
  std::vector<std::string> names;
  std::vector<std::pair<std::shared_ptr<PluginCode>, std::size_t>> found;
  for (const auto& p : plugins) {
    const auto& all = list(p.description);
    for (std::size_t i = 0; i < all.size(); ++i) {
      names.push_back(all[i].name);
      if (all[i].name == name) return {p.code, i};
      if (all[i].name.ends_with("/" + name)) found.emplace_back(p.code, i);
    }
  }
  if (found.size() == 1) return found.front();
  throw LookupError({.id = "mlsysim.plugin.107",
                     .message = found.empty() ? fmt::format("there is no {} '{}'", what, name)
                                              : fmt::format("several {}s are called '{}'", what, name),
                     .key = name,
                     .found = fmt::format("'{}'", name),
                     .expected = names.empty() ? fmt::format("one {}; no plugin brings any", what)
                                               : fmt::format("one of {}", fmt::join(names, ", ")),
                     .hint = did_you_mean(name, names)});
}

}  // namespace

namespace {

/// The program formats that a plugin accepts: its attribute `formats.in`.
std::string formats_of(const PluginDescription& d) {
  for (const auto& [name, value] : d.attributes)
    if (name == "formats.in") return value.text;
  return {};
}

}  // namespace

std::vector<BackendDescription> PluginHost::backends() const {
  const std::lock_guard lock(impl_->mutex());
  std::vector<BackendDescription> out;
  for (const auto& p : impl_->all())
    out.insert(out.end(), p.description.backends.begin(), p.description.backends.end());
  return out;
}

PluginHost::Availability PluginHost::can_create(const std::string& resolver) const {
  std::shared_ptr<PluginResolver> asked;
  {
    const std::lock_guard lock(impl_->mutex());
    const auto [code, index] = find_named(
        impl_->all(), resolver, "resolver",
        [](const PluginDescription& d) -> const auto& { return d.resolvers; });
    for (const auto& p : impl_->all())
      if (p.code == code) asked = p.resolvers[index];
  }
  const auto generation = asked->current();
  if (generation == nullptr) return {};
  const auto& d = generation->description();
  Availability out{d.ownership, d.ownership == Ownership::shared ? std::string() : d.resource, {}};
  try {
    asked->can_create();
  } catch (const std::exception& error) {
    out.held = failure_of(error, "can_create");
  }
  return out;
}

std::vector<ConverterDescription> PluginHost::converters() const {
  const std::lock_guard lock(impl_->mutex());
  std::vector<ConverterDescription> out;
  for (const auto& p : impl_->all())
    out.insert(out.end(), p.description.converters.begin(), p.description.converters.end());
  return out;
}

SupportAnswer PluginHost::support(const std::string& backend, const Program& program,
                                  const std::string& device, int effort, SupportMode mode) const {
  std::pair<std::shared_ptr<PluginCode>, std::size_t> at;
  {
    const std::lock_guard lock(impl_->mutex());
    at = find_named(
        impl_->all(), backend, "backend",
        [](const PluginDescription& d) -> const auto& { return d.backends; });
  }
  const auto& devices = at.first->description().backends[at.second].devices;
  if (std::find(devices.begin(), devices.end(), device) == devices.end())
    throw LookupError(
        {.id = "mlsysim.plugin.108",
         .message = fmt::format("the backend '{}' does not know the device '{}'", backend, device),
         .key = device,
         .found = fmt::format("'{}'", device),
         .expected = fmt::format("one of {}", fmt::join(devices, ", ")),
         .hint = did_you_mean(device, devices),
         .reason = BreakReason::unknown_hardware});
  SupportAnswer out;
  out.mode = mode;
  // Versions come before anything else: what a plugin does not take it is not handed.
  auto given = program;
  auto agreed = handover(formats_of(at.first->description()), program.source);
  if (agreed.refused) {
    out.verdict = Verdict::no;
    out.reasons.push_back(std::move(*agreed.refused));
    return out;
  }
  if (!program.source.empty()) given.format = std::move(agreed.format);
  SolveContext context;
  MlsCall call;
  call.context = &context;
  call.reasons = &out.reasons;
  const auto start = std::chrono::steady_clock::now();
  const auto [verdict, used] =
      at.first->query_support(at.second, given, device, effort, static_cast<std::int32_t>(mode), call);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out.verdict = static_cast<Verdict>(verdict);
  out.effort_used = used;
  return out;
}

std::optional<SupportReason> PluginHost::refused_version(const std::string& backend,
                                                         const std::string& source) const {
  const std::lock_guard lock(impl_->mutex());
  const auto at = find_named(
      impl_->all(), backend, "backend", [](const PluginDescription& d) -> const auto& { return d.backends; });
  return handover(formats_of(at.first->description()), source).refused;
}

std::string PluginHost::import_text(const std::string& importer, const std::string& file,
                                    std::string_view bytes) const {
  std::pair<std::shared_ptr<PluginCode>, std::size_t> at;
  {
    const std::lock_guard lock(impl_->mutex());
    at = find_named(
        impl_->all(), importer, "importer",
        [](const PluginDescription& d) -> const auto& { return d.converters; });
  }
  SolveContext context;
  MlsCall call;
  call.context = &context;
  auto text = at.first->convert(at.second, file, bytes, nullptr, call);
  (void)load_text(text, file + " by " + importer, standard_zoo());
  return text;
}

std::string PluginHost::export_text(const std::string& exporter, ObjectRef object) const {
  std::pair<std::shared_ptr<PluginCode>, std::size_t> at;
  {
    const std::lock_guard lock(impl_->mutex());
    at = find_named(
        impl_->all(), exporter, "exporter",
        [](const PluginDescription& d) -> const auto& { return d.converters; });
  }
  SolveContext context;
  MlsCall call;
  call.context = &context;
  return at.first->convert(at.second, {}, {}, impl_->objects().handle(object), call);
}

std::vector<Callback*> PluginHost::callbacks() const {
  std::vector<Callback*> out;
  for (const auto& c : kept_callbacks()) out.push_back(c.get());
  return out;
}

std::vector<std::shared_ptr<Callback>> PluginHost::kept_callbacks() const {
  const std::lock_guard lock(impl_->mutex());
  std::vector<std::shared_ptr<Callback>> out;
  for (const auto& p : impl_->all()) out.insert(out.end(), p.callbacks.begin(), p.callbacks.end());
  return out;
}

std::string_view name_of(PluginState state) {
  static constexpr std::array<std::string_view, 7> names{"found",  "skipped",     "refused",  "vetted",
                                                         "loaded", "initialised", "shut down"};
  return names[static_cast<std::size_t>(state)];
}

}  // namespace mlsysim::plugin
