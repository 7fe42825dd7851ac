#include "detail/run_state.hpp"
#include "detail/tell.hpp"

#include <mlsysim/resolver_api/search.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace mlsysim {

using detail::kNone;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

template <class F> void Run::State::tell(const RunOptions& options, const char* event, F&& call) {
  for (Callback* callback : options.callbacks) detail::tell(*callback, event, call, report.callback_failures);
}

StageEvent Run::State::event_of(std::size_t i) const {
  return {.run = *self,
          .stage = graph.stages[i].name,
          .resolver = *graph.stages[i].resolver,
          .inputs = slots[i].in,
          .result = slots[i].out,
          .status = slots[i].status,
          .reason = trouble[i].reason};
}

void Run::State::tell_end(std::size_t i, double seconds, const NoteBook& notes, const RunOptions& options) {
  auto event = event_of(i);
  event.seconds = seconds;
  event.error = trouble[i].error;
  if (event.status == StageStatus::ok) {
    event.reason = {};
    tell(options, "on_stage_end", [&](Callback& c) { c.on_stage_end(event); });
  } else if (event.status == StageStatus::infeasible) {
    event.why = &trouble[i].why;
    tell(options, "on_infeasible", [&](Callback& c) { c.on_infeasible(event); });
  } else {
    tell(options, "on_error", [&](Callback& c) { c.on_error(event); });
  }
  if (event.status != StageStatus::ok) {
    const BreakEvent fault{event,
                           event.why != nullptr ? break_reason(*event.why) : break_reason(event.error)};
    tell(options, "on_break", [&](Callback& c) { c.on_break(fault); });
  }
  for (std::size_t w = 0; event.status == StageStatus::ok && w < notes.warnings.size(); ++w) {
    const auto why = notes.reason_of(w);
    if (!why) continue;  // a remark: the answer is a full one
    event.reason = notes.warnings[w];
    const BreakEvent less{event, *why};
    tell(options, "on_break", [&](Callback& c) { c.on_break(less); });
  }
  const ProgressEvent progress{graph.stages[i].name, i + 1, graph.stages.size(), nullptr};
  tell(options, "on_progress", [&](Callback& c) { c.on_progress(progress); });
}

void Run::State::show_inputs(std::size_t i) {
  const auto& stage = graph.stages[i];
  try {
    for (const auto f : stage.loose)
      if (slots[i].loose && is_ready(stage.inputs[f])) write_one(stage, slots[i], stage.inputs[f]);
    if (!hot[i].plain && blocker(i) == kNone) copy_edges(stage, slots[i]);
  } catch (...) {  // NOLINT(bugprone-empty-catch): `attempt` does it again, and tells what is wrong
  }
}

bool Run::State::is_ready(const detail::PipelineInput& input) const {
  return std::all_of(input.sources.begin(), input.sources.end(), [&](const detail::PipelineSource& source) {
    return source.stage == kNone || slots[source.stage].status == StageStatus::ok;
  });
}

StageStatus Run::State::attempt(std::size_t i, SolveContext& ctx) {
  Slot& slot = slots[i];
  const Hot& h = hot[i];
  try {
    if (slot.loose) {
      write_loose(graph.stages[i], slot);
      slot.loose = false;
    }
    for (auto c = h.copies; c < h.copies_end; ++c) {
      const Copy& copy = copies[c];
      const double x = *copy.from;
      if (!(x >= copy.low && x <= copy.high) || (copy.target->integral && x != std::floor(x))) [[unlikely]]
        check_range(*copy.target, x);
      *copy.to = x;
    }
    if (!h.plain) copy_edges(graph.stages[i], slot);
    if (h.resolver->solve(slot.in, slot.out, ctx) == Status::ok) {
      for (auto n = h.numbers; n < h.numbers_end; ++n) {
        const double x = *reinterpret_cast<const double*>(slot.out + indices[n]);
        if (!std::isfinite(x)) [[unlikely]]
          check_result(h.resolver->outputs(), slot.out, graph.stages[i].name,
                       {h.resolver->inputs(), slot.in});
      }
      return StageStatus::ok;
    }
    trouble[i].why = std::move(ctx.why);
    trouble[i].reason = trouble[i].why.reason;
    ctx.why = {};
    return StageStatus::infeasible;
  } catch (Error& error) {
    error.add_context(fmt::format("in stage '{}'", graph.stages[i].name));
    trouble[i].error = std::current_exception();
    trouble[i].reason = error.what();
  } catch (const std::exception& error) {
    trouble[i].error = std::current_exception();
    trouble[i].reason = error.what();
  } catch (...) {
    trouble[i].error = std::current_exception();
    trouble[i].reason = "an exception that is no std::exception";
  }
  return StageStatus::failed;
}

void Run::State::settle(std::size_t i, StageStatus status) {
  Slot& slot = slots[i];
  const Hot& h = hot[i];
  for (auto c = h.consumers; c < h.consumers_end; ++c) slots[indices[c]].dirty = true;
  if (status != StageStatus::ok && status != StageStatus::skipped && broken == kNone) broken = i;
  if (status == StageStatus::ok && slot.status == StageStatus::ok && h.plain) {
    slot.dirty = false;
    return;
  }
  set_status(slot, status);
  // The next execution retries a failed or skipped stage, whether or not its inputs change.
  slot.dirty = status == StageStatus::failed || status == StageStatus::skipped;
  if (status == StageStatus::failed) {
    slot.loose = true;
    if (failed == kNone) failed = i;
    report.stage_failures.push_back({graph.stages[i].name, {}, trouble[i].reason});
  }
  for (const auto c : graph.stages[i].loose_consumers) slots[c].dirty = slots[c].loose = true;
}

void Run::State::skip(std::size_t i, std::size_t because, const RunOptions& options) {
  trouble[i] = {};
  if (because == kNone) {
    trouble[i].reason = "the run was cancelled";
  } else {
    const auto& cause = trouble[because];
    const auto& name = graph.stages[because].name;
    // A skipped cause carries its own reason, so the chain reads back to where it began.
    const char* what = slots[because].status == StageStatus::skipped      ? "was skipped"
                       : slots[because].status == StageStatus::infeasible ? "is infeasible"
                                                                          : "failed";
    trouble[i].reason =
        fmt::format("'{}' {}: {}", name, what, cause.reason.substr(0, cause.reason.find('\n')));
  }
  settle(i, StageStatus::skipped);
  if (options.callbacks.empty()) return;
  show_inputs(i);
  const auto event = event_of(i);
  tell(options, "on_skip", [&](Callback& c) { c.on_skip(event); });
}

void Run::State::observed(std::size_t i, SolveContext& ctx, const RunOptions& options) {
  show_inputs(i);
  auto event = event_of(i);
  event.status = StageStatus::waiting;
  event.reason = {};
  tell(options, "on_stage_start", [&](Callback& c) { c.on_stage_start(event); });
  SearchOptions search;
  search.cancel = options.cancel;
  search.progress = [&](const SearchProgress& p) {
    const ProgressEvent progress{graph.stages[i].name, i, graph.stages.size(), &p};
    tell(options, "on_progress", [&](Callback& c) { c.on_progress(progress); });
  };
  ctx.search = &search;
  heard.clear();
  ctx.notes = Notes(heard);
  trouble[i] = {};
  const double start = now();
  const auto status = attempt(i, ctx);
  const double seconds = now() - start;
  ctx.search = nullptr;
  ctx.notes = {};
  ++report.executed;
  settle(i, status);
  tell_end(i, seconds, heard, options);
}

std::size_t Run::State::sweep(std::size_t i) {
  Slot* const slot = slots.data();
  const std::uint32_t* const list = indices.data();
  std::size_t done = 0;
  try {
    for (; i < slots.size(); ++i) {
      Slot& s = slot[i];
      const Hot& h = hot[i];
      if (!s.dirty) continue;
      if (!h.plain || s.loose || s.status != StageStatus::ok) break;
      bool good = true;
      for (const Copy *c = copies.data() + h.copies, *end = copies.data() + h.copies_end; c != end; ++c) {
        const double x = *c->from;
        good = good && x >= c->low && x <= c->high;
        *c->to = x;
      }
      if (!good || h.resolver->solve(s.in, s.out, context) != Status::ok) break;
      for (auto n = h.numbers; n < h.numbers_end; ++n) {
        const double x = *reinterpret_cast<const double*>(s.out + list[n]);
        good = good && x == x;
      }
      if (!good) break;
      s.dirty = false;
      for (auto c = h.consumers; c < h.consumers_end; ++c) slot[list[c]].dirty = true;
      ++done;
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): the stage is still dirty, and `attempt` reports what is
                   // wrong with it
  }
  report.executed += done;
  return i;
}

void Run::State::run_in_order(const RunOptions& options) {
  const bool watched = !options.callbacks.empty();
  SearchOptions search;
  search.cancel = options.cancel;
  context.search = options.cancel != nullptr ? &search : nullptr;
  const bool warm = !watched && options.cancel == nullptr && kept.empty();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (warm && not_ok == 0) i = sweep(i);
    if (i == slots.size()) break;
    if (!slots[i].dirty) continue;
    if (options.cancel != nullptr && options.cancel->requested()) {
      cancelled = true;
      skip(i, kNone, options);
      continue;
    }
    if (options.fail_fast && broken != kNone) {
      skip(i, broken, options);
      continue;
    }
    if (not_ok > 0) {
      if (const auto b = blocker(i); b != kNone) {
        skip(i, b, options);
        continue;
      }
    }
    if (watched) {
      observed(i, context, options);
      continue;
    }
    if (slots[i].status != StageStatus::ok) [[unlikely]]
      trouble[i] = {};
    ++report.executed;
    if (!kept.empty()) context.notes = Notes(kept[i].emplace(defaults_of(i)));
    settle(i, attempt(i, context));
    context.notes = {};
  }
  context.search = nullptr;
}

void Run::State::run_in_waves(const RunOptions& options) {
  std::size_t levels = 0;
  for (const auto& s : graph.stages) levels = std::max(levels, s.level + 1);
  for (std::size_t level = 0; level < levels; ++level) {
    std::vector<std::size_t> together, alone;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (graph.stages[i].level != level || !slots[i].dirty) continue;
      const bool stop = options.cancel != nullptr && options.cancel->requested();
      const auto b = options.fail_fast && broken != kNone ? broken : blocker(i);
      if (stop || b != kNone)
        skip(i, stop ? kNone : b, options);
      else
        (graph.stages[i].resolver->info().thread_safe ? together : alone).push_back(i);
    }
    for (const auto i : together) {
      trouble[i] = {};
      if (!options.callbacks.empty()) show_inputs(i);
      const auto event = event_of(i);
      tell(options, "on_stage_start", [&](Callback& c) { c.on_stage_start(event); });
    }
    std::vector<StageStatus> ended(together.size());
    std::vector<double> seconds(together.size());
    std::vector<NoteBook> notes(options.callbacks.empty() ? 0 : together.size());
    const auto work = [&](std::size_t first) {
      SolveContext own;
      SearchOptions search;
      search.cancel = options.cancel;
      own.search = &search;
      for (std::size_t k = first; k < together.size(); k += options.threads) {
        if (!notes.empty()) own.notes = Notes(notes[k]);
        const double start = now();
        ended[k] = attempt(together[k], own);
        seconds[k] = now() - start;
      }
    };
    std::vector<std::jthread> threads;
    for (unsigned t = 1; t < options.threads && t < together.size(); ++t) threads.emplace_back(work, t);
    // This thread takes its share as well; the rest of the strides is covered above.
    work(0);
    threads.clear();
    for (std::size_t k = 0; k < together.size(); ++k) {
      ++report.executed;
      settle(together[k], ended[k]);
      tell_end(together[k], seconds[k], notes.empty() ? NoteBook() : notes[k], options);
    }
    for (const auto i : alone) observed(i, context, options);
  }
}

void Run::State::execute(const RunOptions& options) {
  require_values();
  report.executed = 0;
  report.stage_failures.clear();
  report.callback_failures.clear();
  report.seconds = 0;
  failed = broken = kNone;
  cancelled = false;
  kept.assign(options.notes ? slots.size() : 0, std::nullopt);
  const bool watched = !options.callbacks.empty();
  const double start = watched ? now() : 0;
  if (watched) tell(options, "on_pipeline_start", [&](Callback& c) { c.on_pipeline_start(*self); });
  if (options.threads > 1)
    run_in_waves(options);
  else
    run_in_order(options);
  if (watched) {
    report.seconds = now() - start;
    tell(options, "on_pipeline_end", [&](Callback& c) { c.on_pipeline_end(*self, report.seconds); });
  }
  if (failed != kNone) std::rethrow_exception(trouble[failed].error);
  if (options.callback_faults == CallbackFaults::raise && !report.callback_failures.empty()) {
    const auto& f = report.callback_failures.front();
    throw PipelineError(
        {.id = "mlsysim.pipeline.019",
         .message = fmt::format("callback '{}' threw in {}", f.who, f.event),
         .key = f.who,
         .found = f.what,
         .expected = "callbacks that do not throw",
         .hint = "the results of the run are complete; CallbackFaults::record only notes it"});
  }
}

}  // namespace mlsysim
