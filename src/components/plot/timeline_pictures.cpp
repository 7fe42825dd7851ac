#include <mlsysim/plot/scenario_pictures.hpp>

#include "detail/json.hpp"
#include "detail/pass_pieces.hpp"

#include <mlsysim/engine/detail/pass_order.hpp>
#include <mlsysim/reflect/label.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace mlsysim {
namespace {

using Cell = Table::Cell;
using Json = detail::PictureJson;
using detail::kTime;

std::string piece_words(const OperatorRow& row) {
  const auto name = row.pass == "forward" ? row.name : fmt::format("{} ({})", row.name, row.pass);
  return row.count > 1 ? fmt::format("{:g} x {}", row.count, name) : name;
}

std::string_view kind_words(char kind) {
  return kind == 'F' ? "forward" : kind == 'B' ? "backward" : "gradients of weights";
}

std::string schedule_words(Schedule s) {
  return s == Schedule::gpipe ? "GPipe" : s == Schedule::zero_bubble ? "ZB-H1" : "1F1B";
}

std::vector<OperatorRow> running(const Scenario& scenario, std::string_view metric) {
  auto rows = operators_in_order(scenario, metric);
  std::erase_if(rows, [](const OperatorRow& row) { return !(row.time > 0); });
  return rows;
}

}  // namespace

Picture timeline_picture(const Scenario& scenario, std::string_view asked) {
  const auto metric = detail::metric_or_main(scenario, asked);
  const auto rows = running(scenario, metric);
  double whole = 0;
  for (const auto& row : rows) whole += row.time;
  const auto unit = readable_unit(whole, kTime);
  PictureMark m{.shape = MarkShape::bar,
                .x = "start",
                .y = "operator",
                .x_end = "end",
                .series = "limit",
                .label = "label"};
  m.data = {.schema = "mlsysim/timeline@1",
            .title = "operators in order",
            .columns = {{"operator"}, {"limit"}, {"start", unit}, {"end", unit}, {"time", unit}, {"label"}}};
  Picture p{
      .kind = "timeline",
      .title = fmt::format("{}: operators of {} in order", detail::subject_words(scenario), label_of(metric)),
      .x = {.title = "time", .unit = unit, .from_zero = true},
      .y = {.title = "operator", .scale = Scale::category},
      .sources = detail::device_sources(scenario),
      .notes = {"The executions of all layers are drawn in one piece; in a run they take turns, layer by "
                "layer, as the Chrome trace has them."}};
  double at = 0;
  std::map<std::string, int> seen;
  for (const auto& row : rows) {
    auto words = piece_words(row);
    if (const int n = ++seen[words]; n > 1) words += fmt::format(" #{}", n);
    p.y.categories.push_back(words);
    m.data.rows.push_back({words, "limited by " + row.limit, Cell(at, kTime), Cell(at + row.time, kTime),
                           Cell(row.time, kTime), pretty(AnyQuantity::from_base(row.time, kTime), 3)});
    at += row.time;
  }
  p.description = fmt::format("{} operators that take {} one after the other.", rows.size(),
                              pretty(AnyQuantity::from_base(whole, kTime)));
  p.marks.push_back(std::move(m));
  return p;
}

Picture schedule_picture(const Scenario& scenario) {
  const auto s = detail::schedule_of(scenario);
  double end = 0;
  for (const auto& piece : s.pieces) end = std::max(end, piece.end);
  const auto unit = readable_unit(end, kTime);
  PictureMark m{.shape = MarkShape::bar,
                .x = "start",
                .y = "stage",
                .x_end = "end",
                .series = "pass",
                .label = "label"};
  m.data = {.schema = "mlsysim/schedule@1",
            .title = "schedule",
            .columns = {{"stage"}, {"pass"}, {"micro_batch"}, {"start", unit}, {"end", unit}, {"label"}}};
  Picture p{
      .kind = "schedule",
      .title = fmt::format("{}: {} over {} stages", detail::subject_words(scenario),
                           schedule_words(s.schedule), s.stages),
      .description = fmt::format("{} micro-batches pass through {} stages in {}, before gradients are "
                                 "exchanged and weights updated.",
                                 s.batches, s.stages, pretty(AnyQuantity::from_base(end, kTime))),
      .x = {.title = "time", .unit = unit, .from_zero = true},
      .y = {.title = "stage", .scale = Scale::category},
      .sources = detail::device_sources(scenario),
      .notes = {"Blanks are the bubble. Stages but the slowest are as long as the law of the bubble takes "
                "them to be."}};
  for (std::size_t i = 0; i < s.stages; ++i) p.y.categories.push_back(fmt::format("stage {}", i + 1));
  for (const auto& piece : s.pieces)
    m.data.rows.push_back({p.y.categories[piece.stage], kind_words(piece.kind),
                           static_cast<double>(piece.batch + 1), Cell(piece.start, kTime),
                           Cell(piece.end, kTime), fmt::format("{}", piece.batch + 1)});
  p.marks.push_back(std::move(m));
  return p;
}

Picture memory_schedule_picture(const Scenario& scenario) {
  const auto s = detail::schedule_of(scenario);
  const detail::Numbers numbers(scenario);
  const auto activations = numbers.find("memory.activations"), total = numbers.find("memory.total");
  if (!activations || !total)
    throw InputError({.id = "mlsysim.picture.008",
                      .message = "the memory of this scenario is not known by its parts",
                      .found = "no activations",
                      .expected = "a model whose layers are known"});
  // The account of the first stage holds the activations of all micro-batches in flight there.
  const double held = s.schedule == Schedule::gpipe ? static_cast<double>(s.batches)
                                                    : static_cast<double>(std::min(s.batches, s.stages));
  const double one = *activations / held, still = *total - *activations;
  constexpr Exponents kData = Data<>::dimension::exps;
  double end = 0;
  for (const auto& piece : s.pieces) end = std::max(end, piece.end);
  const auto time = readable_unit(end, kTime), bytes = readable_unit(*total, kData);
  PictureMark m{.shape = MarkShape::line, .x = "time", .y = "memory", .series = "stage"};
  m.data = {.schema = "mlsysim/memory-schedule@1",
            .title = "memory over the schedule",
            .columns = {{"stage"}, {"time", time}, {"memory", bytes}, {"in_flight"}}};
  double most = 0;
  for (std::size_t i = 0; i < s.stages; ++i) {
    const auto name = fmt::format("stage {}", i + 1);
    double flying = 0;
    const auto add = [&](double at) {
      m.data.rows.push_back({name, Cell(at, kTime), Cell(still + one * flying, kData), flying});
      most = std::max(most, flying);
    };
    add(0);
    for (const auto& piece : s.pieces) {
      if (piece.stage != i || piece.kind == 'W') continue;
      const double at = piece.kind == 'F' ? piece.start : piece.end;
      add(at);
      flying += piece.kind == 'F' ? 1 : -1;
      add(at);
    }
    add(end);
  }
  Picture p{
      .kind = "memory-schedule",
      .title = fmt::format("{}: memory while {} runs", detail::subject_words(scenario),
                           schedule_words(s.schedule)),
      .description = fmt::format("Memory of one device of each stage; the first stage holds the activations "
                                 "of {:g} micro-batches at most, {} each.",
                                 most, pretty(AnyQuantity::from_base(one, kData), 3)),
      .x = {.title = "time", .unit = time, .from_zero = true},
      .y = {.title = "memory", .unit = bytes, .from_zero = true},
      .sources = detail::device_sources(scenario),
      .notes = {"Every stage is drawn with the weights and the activations of a micro-batch of the fullest "
                "one; activations live from the start of a forward pass to the end of its backward pass."}};
  p.marks.push_back(std::move(m));
  return p;
}

Picture memory_timeline_picture(const Scenario& scenario) {
  if (scenario.pp_size > 1 && main_time(scenario) == "step_latency") return memory_schedule_picture(scenario);
  const detail::Numbers numbers(scenario);
  const auto step = numbers.find("itl"), first = numbers.find("ttft"), total = numbers.find("memory.total");
  if (!step || !total)
    throw InputError(
        {.id = "mlsysim.picture.013",
         .message = "the memory of this scenario does not change while it runs",
         .found = fmt::format("a {}", main_time(scenario) == "latency" ? "pass" : "step without a pipeline"),
         .expected = "requests that generate, or a step with a pipeline"});
  constexpr Exponents kData = Data<>::dimension::exps;
  constexpr double usual = 256;  // tokens that are drawn where the scenario does not say how long answers are
  const double tokens = scenario.output_tokens.value_or(usual), prompt = scenario.seq_len.value_or(2048);
  const auto at = [&](double held) {
    auto then = scenario;
    then.seq_len = held;
    then.output_tokens = 1;
    return detail::Numbers(then).find("memory.total").value_or(*total);
  };
  const double low = at(prompt), high = at(prompt + tokens), start = first.value_or(0),
               end = start + *step * tokens;
  const auto time = readable_unit(end, kTime), bytes = readable_unit(high, kData);
  PictureMark m{.shape = MarkShape::line, .x = "time", .y = "memory"};
  m.data = {.schema = "mlsysim/memory-timeline@1",
            .title = "memory over time",
            .columns = {{"time", time}, {"memory", bytes}, {"tokens"}}};
  m.data.rows = {{Cell(0.0, kTime), Cell(low, kData), prompt},
                 {Cell(start, kTime), Cell(low, kData), prompt},
                 {Cell(end, kTime), Cell(high, kData), prompt + tokens}};
  Picture p{
      .kind = "memory-timeline",
      .title = fmt::format("{}: memory while answers grow", detail::subject_words(scenario)),
      .description =
          fmt::format("Memory of one device from {} after the prompts to {} after {:g} more tokens.",
                      pretty(AnyQuantity::from_base(low, kData), 3),
                      pretty(AnyQuantity::from_base(high, kData), 3), tokens),
      .x = {.title = "time", .unit = time, .from_zero = true},
      .y = {.title = "memory", .unit = bytes, .from_zero = true},
      .sources = detail::device_sources(scenario),
      .notes = {"All requests of the batch begin together; the time of a token is that of the scenario."}};
  if (!scenario.output_tokens)
    p.notes.push_back(fmt::format("Answers of {:g} tokens are drawn: none is given.", usual));
  p.marks.push_back(std::move(m));
  return p;
}

namespace {

Json event(std::string name, std::string_view category, double start, double end, std::size_t lane) {
  return {{"name", std::move(name)},    {"cat", category}, {"ph", "X"},  {"ts", start * 1e6},
          {"dur", (end - start) * 1e6}, {"pid", 1},        {"tid", lane}};
}
Json lane_name(std::size_t lane, std::string_view name) {
  return {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", lane}, {"args", {{"name", name}}}};
}

/// Operators that are alike in count are those of equal layers: they run in turns.
Json pass_events(const std::vector<OperatorRow>& rows) {
  Json events = Json::array();
  std::map<std::string, std::size_t> lanes;
  double at = 0;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t last = i;
    while (last < rows.size() && rows[last].count == rows[i].count && rows[last].pass == rows[i].pass) ++last;
    const auto turns = static_cast<std::size_t>(std::max(1.0, rows[i].count));
    for (std::size_t turn = 0; turn < turns; ++turn)
      for (std::size_t k = i; k < last; ++k) {
        const auto& row = rows[k];
        const auto lane = lanes.try_emplace(row.limit, lanes.size() + 1).first->second;
        const double end = at + row.time / static_cast<double>(turns);
        auto e = event(row.name, row.pass, at, end, lane);
        e["args"] = {{"limited by", row.limit}, {"layer", turn + 1}};
        events.push_back(std::move(e));
        at = end;
      }
    i = last;
  }
  for (const auto& [name, lane] : lanes) events.push_back(lane_name(lane, "limited by " + name));
  return events;
}

}  // namespace

std::string chrome_trace(const Scenario& scenario, std::string_view asked) {
  const auto metric = detail::metric_or_main(scenario, asked);
  Json events = Json::array();
  if (metric == "step_latency" && scenario.pp_size > 1) {
    const auto s = detail::schedule_of(scenario);
    for (const auto& piece : s.pieces)
      events.push_back(event(fmt::format("{} {}", kind_words(piece.kind), piece.batch + 1),
                             kind_words(piece.kind), piece.start, piece.end, piece.stage + 1));
    for (std::size_t i = 1; i <= s.stages; ++i) events.push_back(lane_name(i, fmt::format("stage {}", i)));
  } else {
    events = pass_events(running(scenario, metric));
  }
  return detail::json_document(
      Json({{"traceEvents", std::move(events)},
            {"displayTimeUnit", "ms"},
            {"otherData", {{"title", detail::subject_words(scenario)}, {"metric", metric}}}}));
}

}  // namespace mlsysim
