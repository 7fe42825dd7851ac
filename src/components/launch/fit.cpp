#include <mlsysim/launch/fit.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/specs/zoo.hpp>

#include "detail/settings.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

/// Requests as long as the longest that a data-parallel rank of an engine holds at once.
double at_once(const MemoryAccount& account, double context) {
  return account.engine ? std::floor(account.engine->tokens / context) : 0;
}

/// The engine whose memory rule holds: the release that the launch states, or that of its family where a port
/// has none of its own.
const ServingEngine& rules_of(const Launch& launch, const ResolvedScenario& r, const Zoo& zoo) {
  const auto* own = r.asked().engine;
  return own != nullptr && own->memory ? *own : zoo.at<ServingEngine>(launch.serving->engine);
}

/// Tokens of the longest request: as the launch says, else all positions of the model where the engine
/// reserves for them, else those of the plan.
double longest_of(const ServingSetup& setup, const ServingEngine& engine, const ResolvedScenario& r) {
  if (setup.context) return *setup.context;
  const auto& positions = setup.positions;
  if (positions && !setup.limits_itself && engine.memory && engine.memory->needs_longest) return *positions;
  return detail::tokens_held(*r.asked().workload, r.seq_len(), r.asked().output_tokens.value_or(0));
}

/// Why the longest request is that long, where the launch does not say; empty where it does.
std::string longest_words(const Launch& launch, const MemoryQuestion& q) {
  if (launch.serving->context) return {};
  return q.engine->memory->needs_longest && !launch.serving->limits_itself && launch.serving->positions
             ? fmt::format(" ({} starts for all positions of {} unless its length is limited)",
                           name_of(launch.format), q.model->name)
             : " (the plan's prompt and answer)";
}

MemoryQuestion question_of(const Launch& launch, const ResolvedScenario& r, const Zoo& zoo) {
  const auto& setup = *launch.serving;
  const auto& engine = rules_of(launch, r, zoo);
  auto shares = setup.shares;
  if (const auto& share = r.asked().memory_fraction) shares.fraction = share;
  if (const auto& bytes = r.asked().kv_cache_memory) shares.cache = bytes;
  return {.model = r.asked().workload,
          .device = &r.hardware(),
          .context = longest_of(setup, engine, r),
          .requests = setup.requests.value_or(1),
          .tensor_parallel = r.tp_size(),
          .expert_parallel = r.asked().ep_size,
          .precision = r.asked().precision,
          .weight_format = r.asked().weight_format,
          .kv_precision = r.asked().kv_precision,
          .engine = &engine,
          .shares = shares,
          .offload_weights = r.asked().offload_weights,
          .offload_experts = r.asked().offload_experts};
}

/// Adds a model that drafts `proposed` tokens: its weights take of the pool, and its cache of each token.
void add_draft(const Workload& draft, double proposed, const MemoryQuestion& q,
               const Conventions& conventions, MemoryAccount& account) {
  if (draft.stacks.empty()) return;
  auto own = q;
  own.model = &draft;
  own.engine = nullptr;
  own.offload_weights = own.offload_experts = 0;
  if (draft.heads().value_or(own.tensor_parallel) < own.tensor_parallel) own.tensor_parallel = 1;
  auto more = memory_account(own, conventions);
  for (auto& item : more.items) {
    if (item.part != MemoryPart::weights) continue;
    if (head_per_token(draft)) item.bytes *= proposed;
    if (draft.main()->role != StackRole::draft) item.what = "draft: " + item.what;
    account.items.push_back(item);
  }
  auto& e = *account.engine;
  const double cached = more.sum(MemoryPart::cache) / (q.context * q.requests * unit::B);
  const double each = e.tokens > 0 ? e.pool / (e.tokens * unit::B) : 0;
  e.pool = max(e.pool - more.sum(MemoryPart::weights), Data<>());
  e.tokens = each > 0 ? std::floor(e.pool / ((each + cached) * unit::B)) : 0;
}

/// The memory of a device as its engine divides it. The rows add up to the total: the capacity, or more where
/// nothing is left for a cache. States that share the pool have no row.
std::vector<FitItem> rows_of(const MemoryAccount& account, const MemoryQuestion& q) {
  std::vector<FitItem> out;
  Data<> total;
  const auto add = [&](std::string_view part, std::string what, Data<> bytes) {
    out.push_back({std::string(part), std::move(what), bytes});
    total += bytes;
  };
  const auto& engine = *account.engine;
  for (const auto& i : account.items)
    if (i.part == MemoryPart::weights || (i.part == MemoryPart::state && q.engine->memory->states_first))
      add(name_of(i.part), i.what, i.bytes);
  add(name_of(MemoryPart::reserve), "framework, context and workspaces", account.memory.reserve);
  for (const auto& i : engine.held) add(name_of(i.part), i.what, i.bytes);
  add("pool", fmt::format("cache: {:.0f} tokens", engine.tokens), engine.pool);
  out.push_back({"total", "of these", total});
  out.push_back({"capacity", q.device->name, account.memory.capacity});
  return out;
}

/// The load of a scenario, for the summary; empty where no sequences are served or trained.
std::string load_of(const Scenario& scenario, std::string_view load) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  if (r.mode() == Mode::train)
    return fmt::format(", batches of {:g} sequences of {:g} tokens", r.asked().batch_size, r.seq_len());
  if (r.mode() != Mode::serve) return {};
  const auto answer = r.asked().output_tokens;
  return fmt::format(", {}, prompts of {:g} tokens{}", load, r.seq_len(),
                     answer ? fmt::format(" and answers of {:g}", *answer) : "");
}

/// Changes of a launch after which its longest request fits, those that cost least first.
std::vector<Remedy> changes_of(const MemoryQuestion& q, const MemoryAccount& now,
                               const Conventions& conventions) {
  std::vector<Remedy> out;
  const auto attempt = [&](const MemoryQuestion& changed, std::string words) {
    const auto account = memory_account(changed, conventions);
    const bool starts = account.engine && account.engine->excess == Data<>();
    const double count = starts ? at_once(account, changed.context) : 0;
    if (count >= 1)
      out.push_back(
          {std::move(words), fmt::format("{:.0f} requests of {:g} tokens fit", count, changed.context)});
    return count >= 1;
  };
  if (now.engine && now.engine->excess > Data<>()) {
    auto c = q;
    const Data<> left = max(now.engine->pool - now.engine->excess, Data<>());
    c.shares.cache = std::floor(left / unit::B) * unit::B;
    attempt(c, fmt::format("a cache of at most {:.3g} GB", *c.shares.cache / unit::GB));
  } else if (now.engine && now.engine->tokens >= 1) {
    auto c = q;
    c.context = now.engine->tokens;
    attempt(c, fmt::format("requests of at most {:.0f} tokens instead of {:g}", c.context, q.context));
  }
  if (!q.shares.cache && !q.shares.margin)
    for (const double share : larger_shares(q.shares.fraction)) {
      auto c = q;
      c.shares.fraction = share;
      if (attempt(c, fmt::format("a share of {:g} of the memory for the engine", share))) break;
    }
  if (q.kv_precision.value_or(Precision::bf16) != Precision::fp8) {
    auto c = q;
    c.kv_precision = Precision::fp8;
    attempt(c, "a cache in fp8");
  }
  const Data<> held = now.sum(MemoryPart::weights);
  for (const auto f : {WeightFormat::fp8, WeightFormat::int4}) {
    auto c = q;
    c.weight_format = f;
    if (memory_account(c, conventions).sum(MemoryPart::weights) < 0.99 * held &&
        attempt(c, fmt::format("weights in {}", name_of(f))))
      break;
  }
  for (double tp = q.tensor_parallel * 2; tp <= 1024; tp *= 2) {
    auto c = q;
    c.tensor_parallel = tp;
    if (attempt(c, fmt::format("tensor parallelism {:g} instead of {:g}", tp, q.tensor_parallel))) break;
  }
  return out;
}

/// Where the layers lie, for the summary; empty where the engine places none in host memory.
std::string placed(const MemoryQuestion& q) {
  std::string out;
  if (stated(*q.engine, &ServingEngine::host_rows) == nullptr) return out;
  const double layers = q.model->layers().value_or(0), experts = q.model->expert_layers();
  if (q.offload_weights > 0)
    out +=
        fmt::format(", with {:.0f} of {:g} layers on the device", layers * (1 - q.offload_weights), layers);
  if (q.offload_experts > 0)
    out += fmt::format(", with the experts of {:.0f} of {:g} layers in host memory",
                       experts * q.offload_experts, experts);
  return out;
}

}  // namespace

void detail::shorten_context(Launch& launch, const Zoo& zoo) {
  constexpr double least = 4096, step = 256;  // --fit-ctx, and what a context is a multiple of
  auto& setup = *launch.serving;
  const double requests = setup.requests.value_or(1), longest = *setup.context;
  const auto fits = [&](double context) {
    setup.context = context;
    setup.tokens = context * requests;
    const auto fit = fit_of(launch, zoo);
    return fit.fits && (fit.requests >= requests || fit.requests == 0);
  };
  try {
    if (fits(longest) || longest <= least) return;
    double low = least / step, high = std::ceil(longest / step);
    while (high - low > 1) {
      const double middle = std::floor((low + high) / 2);
      (fits(middle * step) ? low : high) = middle;
    }
    (void)fits(low * step);
  } catch (const Error&) {  // of a scenario that nobody answers: whoever asks it says so
    setup.context = longest;
  }
}

void detail::place_layers(Launch& launch, const Zoo& zoo) {
  for (const auto* field : {"offload_weights", "offload_experts"})
    if (launch.fields.contains(field)) return;
  const auto built = launch.build(zoo);
  if (built.scenario.workload->stacks.empty()) return;
  Notes notes;
  const ResolvedScenario resolved(built.scenario, notes);
  auto q = question_of(launch, resolved, zoo);
  // The fullest of several devices decides.
  const auto fits = [&] {
    if (resolved.asked().pp_size == 1) return memory_account(q, conventions_of(zoo)).engine->fits;
    auto moved = built.scenario;
    moved.offload_weights = q.offload_weights;
    moved.offload_experts = q.offload_experts;
    return fit_of(moved).fits;
  };
  const auto move = [&](double& share, double layers, const char* field) {
    for (double n = 1; n <= layers; ++n) {
      share = n / layers;
      if (n < layers && !fits()) continue;
      launch.fields[field] = count_text(share);
      return;
    }
  };
  if (fits()) return;
  move(q.offload_experts, q.model->expert_layers(), "offload_experts");
  if (!fits()) move(q.offload_weights, q.model->layers().value_or(0), "offload_weights");
  launch.notes.push_back(fmt::format("the engine moves what does not fit to host memory{}", placed(q)));
}

namespace {

/// Adds the memory of the host of a node, where weights or states lie in it. Where it is not known how much
/// the host has, the summary says what it takes.
void add_host(const SystemEvaluation& card, Fit& out) {
  const auto bytes = [&](const char* name) -> std::optional<Data<>> {
    const auto* m = card.feasibility.find(name);
    const auto* value = m == nullptr ? nullptr : std::get_if<double>(&m->value);
    return value == nullptr ? std::nullopt : std::optional(Data<>::from_base(*value));
  };
  const auto used = bytes("host_memory_used"), room = bytes("host_memory_capacity");
  if (!used || *used == Data<>()) return;
  out.items.push_back({"host", "weights and states in the memory of the host of a node", *used});
  if (room) out.items.push_back({"host capacity", "memory of the host of a node", *room});
  if (!room)
    out.summary += fmt::format(", if the host of a node has {:.3g} GB for it", *used / unit::GB);
  else if (*used > *room)
    out.fits = false,
    out.summary = fmt::format("the host of a node has {:.3g} GB, and {:.3g} GB are to lie there",
                              *room / unit::GB, *used / unit::GB);
}

}  // namespace

Fit fit_of(const Scenario& scenario) {
  const auto card = SystemEvaluator::evaluate(scenario);
  Fit out{.fits = card.feasibility.status != EvaluationLevel::Status::fail,
          .summary = card.feasibility.summary.str() + load_of(scenario, card.load),
          .changes = card.remedies};
  for (const auto& m : card.memory)
    if (const auto* bytes = std::get_if<double>(&m.value))
      out.items.push_back({m.name.str(), m.meaning.str(), Data<>::from_base(*bytes)});
  for (const auto* name : {"memory_used", "memory_capacity"})
    if (const auto* m = card.feasibility.find(name))
      if (const auto* bytes = std::get_if<double>(&m->value))
        out.items.push_back({name == std::string_view("memory_used") ? "total" : "capacity", m->meaning.str(),
                             Data<>::from_base(*bytes)});
  if (out.fits) add_host(card, out);
  return out;
}

Fit fit_of(const BuiltScenario& built) {
  Fit out = fit_of(built.scenario);
  NoteBook book;
  Notes notes(book);
  const Scenario& s = built.scenario;
  if (s.workload != nullptr && s.seq_len)
    warn_of_positions(*s.workload, *s.seq_len, s.output_tokens.value_or(0), notes);
  out.notes = built.warnings;
  out.notes.insert(out.notes.end(), book.warnings.begin(), book.warnings.end());
  return out;
}

namespace {

/// The memory of the fullest device of a launch that gives its devices unequal shares of the layers.
Fit by_shares(Fit fit, double fullest) {
  const auto of = [&](std::string_view part) -> Data<>& {
    return std::find_if(fit.items.begin(), fit.items.end(), [&](const FitItem& i) { return i.part == part; })
        ->bytes;
  };
  Data<> more;
  for (auto& item : fit.items) {
    if (item.part != "weights" && item.part != "kv_cache") continue;
    more += item.bytes * (fullest - 1);
    item.bytes *= fullest;
  }
  const Data<> total = of("total") += more, capacity = of("capacity");
  fit.fits = total <= capacity;
  fit.summary =
      fmt::format("{}: the device with the largest share of the layers holds {:.3g} GB of {:.3g} GB",
                  fit.fits ? "fits" : "does not fit", total / unit::GB, capacity / unit::GB);
  return fit;
}

}  // namespace

void detail::leave_room(Launch& launch, const Zoo& zoo) {
  auto& setup = *launch.serving;
  const auto degree = launch.fields.find("pp_size");
  if (setup.fullest <= 1 || degree == launch.fields.end()) return;
  try {
    const auto fit = fit_of(launch, zoo);
    const auto of = [&](std::string_view part) {
      const auto found = std::ranges::find(fit.items, part, &FitItem::part);
      return found == fit.items.end() ? Data<>() : found->bytes;
    };
    const Data<> cache = of("kv_cache"), room = of("capacity") - (of("total") - cache);
    if (cache == Data<>()) return;
    setup.leaves_room = true;
    launch.fields.erase("memory_fraction");
    launch.fields["kv_cache_memory"] =
        count_text(std::max(1.0, std::floor(room / setup.fullest / unit::B))) + " B";
  } catch (const Error&) {  // of a scenario that nobody answers: whoever asks it says so
  }
}

namespace {

/// The memory of a launch, without what was said of its reading.
Fit memory_of_launch(const Launch& launch, const Zoo& zoo) {
  if (launch.serving && launch.serving->leaves_room) {
    auto even = launch;
    even.serving->leaves_room = false;
    even.fields.erase("kv_cache_memory");
    even.fields["memory_fraction"] = "1";
    return memory_of_launch(even, zoo);
  }
  const auto built = launch.build(zoo);
  const bool layers = !built.scenario.workload->stacks.empty();
  if (!launch.serving || built.scenario.pp_size > 1 || !layers) {
    auto fit = fit_of(built.scenario);
    const double fullest = launch.serving ? launch.serving->fullest : 1;
    return fullest > 1 && built.scenario.pp_size > 1 ? by_shares(std::move(fit), fullest) : fit;
  }
  const auto card = SystemEvaluator::evaluate(built.scenario);  // refuses what no device of the launch does
  Notes notes;
  const ResolvedScenario resolved(built.scenario, notes);
  const auto q = question_of(launch, resolved, zoo);
  const auto& conventions = conventions_of(zoo);
  auto account = memory_account(q, conventions);
  if (const auto* draft = built.scenario.draft_model; draft != nullptr && draft != built.scenario.workload)
    add_draft(*draft, built.scenario.draft_tokens.value_or(conventions.draft_tokens), q, conventions,
              account);
  Fit out;
  out.items = rows_of(account, q);
  const double held = launch.serving->tokens.value_or(HUGE_VAL);
  const double each = std::min(at_once(account, q.context), std::floor(held / q.context));
  out.ranks = resolved.accelerators() / (q.tensor_parallel * resolved.asked().pp_size);
  out.requests = each * out.ranks;
  const auto kept = account.sum(MemoryPart::cache) + account.sum(MemoryPart::state);
  const bool caches = kept > Data<>();
  const Data<> excess = account.engine->excess;
  out.fits = excess == Data<>() && (caches ? each >= 1 : account.engine->pool > Data<>());
  if (!caches) {
    out.summary = !out.fits                ? "the weights do not fit"
                  : q.offload_weights >= 1 ? "all layers lie in host memory, and their cache"
                                           : "the weights fit, and the model keeps no cache";
  } else if (!out.fits) {
    out.changes = changes_of(q, account, conventions);
    out.summary =
        excess > Data<>()
            ? fmt::format("the cache of {:.3g} GB that is asked for is {:.3g} GB larger than what is left",
                          account.engine->pool / unit::GB, excess / unit::GB)
            : fmt::format("a request of {:g} tokens{} does not fit: the cache holds {:.0f}", q.context,
                          longest_words(launch, q), account.engine->tokens);
  } else {
    const bool one = out.requests == 1;
    out.summary = fmt::format("{:.0f} request{} of {:g} tokens{} fit{} at once", out.requests, one ? "" : "s",
                              q.context, longest_words(launch, q), one ? "s" : "");
    if (out.ranks > 1)
      out.summary += fmt::format(", {:.0f} on each of {:g} data-parallel ranks", each, out.ranks);
    out.summary += placed(q);
    if (each < q.requests)
      out.summary += fmt::format(", and the engine works on {:g}: when all are that long, the others wait",
                                 q.requests * out.ranks);
  }
  if (out.fits) add_host(card, out);
  return out;
}

}  // namespace

Fit fit_of(const Launch& launch, const Zoo& zoo) {
  Fit out = memory_of_launch(launch, zoo);
  out.notes = launch.notes;
  return out;
}

}  // namespace mlsysim
