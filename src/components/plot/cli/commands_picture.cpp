#include "command_picture.hpp"

#include "cli/output.hpp"
#include "cli/questions.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/explore/ask/optimize.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/pipeline/pipeline.hpp>
#include <mlsysim/plot/answer_pictures.hpp>
#include <mlsysim/plot/render.hpp>
#include <mlsysim/plot/report_page.hpp>
#include <mlsysim/plot/scenario_pictures.hpp>
#include <mlsysim/plot/thing_pictures.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/validation/validate.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <functional>

namespace mlsysim::cli {
namespace {

constexpr double kLeastSide = 120, kMostSide = 10000;  // pixels of a picture

using Make = std::function<Picture(ScenarioRequest&, const PlotRequest&)>;

std::string one_word(const ScenarioRequest& request, std::string_view what) {
  if (request.targets.size() == 1) return request.targets[0];
  throw InputError({.id = "mlsysim.cli.120",
                    .message = fmt::format("this picture is of one {}", what),
                    .found = fmt::format("{} words", request.targets.size()),
                    .expected = std::string(what),
                    .hint = "mlsysim plot --help has examples"});
}

/// A picture of a scenario and one of its times.
Make timed(Picture (*make)(const Scenario&, std::string_view)) {
  return [make](ScenarioRequest& request, const PlotRequest&) {
    const auto metric = popped_result(request);
    return make(scenario_of(request).scenario, metric);
  };
}
Make plain(Picture (*make)(const Scenario&)) {
  return [make](ScenarioRequest& request, const PlotRequest&) { return make(scenario_of(request).scenario); };
}

Picture tornado(ScenarioRequest& request, const PlotRequest& asked) {
  auto result = popped_result(request);
  const auto q = subject_asked(std::move(request));
  if (result.empty()) result = main_result(q.subject);
  return tornado_picture(sensitivity(q.subject, result, {.step = asked.step}));
}

Picture difference(ScenarioRequest& request, const PlotRequest& asked) {
  auto result = popped_result(request);
  if (asked.with.empty())
    throw InputError({.id = "mlsysim.cli.121",
                      .message = "there is nothing to compare with",
                      .expected = "--with NAME=VALUE",
                      .hint = "e.g. --with hardware=H200"});
  const auto from = changed_subject(request, asked.against), to = changed_subject(request, asked.with);
  if (result.empty()) result = main_result(from.subject);
  return difference_picture(compare(from.subject, to.subject, result));
}

/// A picture of a result over a space.
Make over_space(Picture (*make)(const Space&, std::string_view)) {
  return [make](ScenarioRequest& request, const PlotRequest& asked) {
    const auto result = popped_result(request);
    const auto s = space_asked(request, asked.space);
    try {
      return make(*s.space, result.empty() ? main_result(s.space->sample()) : result);
    } catch (const DomainError& error) {
      auto facts = error.facts();
      if (facts.id != kNothingFits) throw;
      if (auto words = what_fits(request, *s.space); !words.empty()) facts.hint = std::move(words);
      throw DomainError(std::move(facts));
    }
  };
}

Picture histogram(ScenarioRequest& request, const PlotRequest& asked) {
  auto space = asked.space;
  space.histogram = popped_result(request);
  auto s = space_asked(request, space);
  if (space.histogram.empty()) s.question.histogram = main_result(s.space->sample());
  return histogram_picture(explore(*s.space, s.question));
}

/// Adds the front of a space to the picture of several.
void add_front(AskedSpace& s, ExploreAnswer& all, FrontBeside& beside) {
  auto answer = pareto(*s.space, s.question);
  if (beside.level > 0)
    std::ranges::copy(front_bands(answer, *s.space, s.built.scenario, beside.level),
                      std::back_inserter(beside.bands));
  if (beside.measured_asked)
    std::ranges::copy(measured_points(answer, *s.space, s.built.scenario, zoo()),
                      std::back_inserter(beside.measured));
  if (all.front.empty()) {
    answer.total += all.total;
    answer.feasible += all.feasible;
    all = std::move(answer);
    return;
  }
  all.total += answer.total;
  all.feasible += answer.feasible;
  std::ranges::move(answer.front, std::back_inserter(all.front));
}

/// @param note may be empty
Picture with_note(Picture picture, const std::string& note) {
  if (!note.empty()) picture.notes.push_back(note);
  return picture;
}

/// The front of each machine that is asked, also where another machine is better everywhere.
Picture front(ScenarioRequest& request, const PlotRequest& asked) {
  auto space = asked.space;
  space.command = "pareto";  // searches and minds what that does
  auto whole = space_asked(request, space);
  FrontBeside beside{.level = asked.interval, .measured_asked = asked.measured};
  if ((beside.level > 0 || beside.measured_asked) && whole.built.scenario.workload == nullptr)
    throw InputError({.id = "mlsysim.cli.175",
                      .message = "only fronts of scenarios have intervals and measured points",
                      .found = "a law or resolver",
                      .expected = "MODEL HARDWARE, or a plan"});
  ExploreAnswer all;
  const auto& axes = whole.space->axes();
  const auto machines = std::ranges::find(axes, std::vector<std::string>{"hardware"},
                                          [](const SpaceAxis& axis) { return axis.names; });
  if (machines == axes.end()) {
    add_front(whole, all, beside);
    return with_note(front_picture(all, beside), whole.said);
  }
  for (std::size_t row = 0; row < machines->size(); ++row) {
    auto one = axes;
    auto& machine = one[static_cast<std::size_t>(machines - axes.begin())];
    machine = {.names = {"hardware"}, .rows = {{machines->value(row)}}, .labels = {machines->label(row)}};
    auto s = space_asked(request, space);
    s.space = std::make_unique<Space>(problem_of(s.built.scenario, s.built.keep), std::move(one));
    add_front(s, all, beside);
  }
  return with_note(front_picture(all, beside), whole.said);
}

Picture topology(ScenarioRequest& request, const PlotRequest&) {
  // Any model does: the machine is what a scenario on it runs on.
  ScenarioBuilder builder(zoo());
  builder.set("workload", zoo().names<Workload>().front()).hardware(one_word(request, "machine"));
  for (const auto& [field, text] : request.fields) builder.set(field, text);
  const auto built = builder.build();
  Notes quiet;
  return topology_picture(ResolvedScenario(built.scenario, quiet).fleet());
}

Picture layers(ScenarioRequest& request, const PlotRequest& asked) {
  FieldReader reader(zoo());
  FieldInfo field;
  field.name = "workload";
  field.kind = ValueKind::object;
  field.object_type = ObjectType<Workload>::name;
  const auto value = reader.read(field, one_word(request, "model"));
  return layers_picture(*static_cast<const Workload*>(std::get<ObjectRef>(value.value).object), zoo(),
                        asked.context);
}

std::vector<NamedPicture> accuracy(const ScenarioRequest& request) {
  std::vector<MeasuredTable> tables;
  for (const auto& name : table_names("")) {
    const bool named = std::any_of(request.targets.begin(), request.targets.end(), [&](const std::string& w) {
      return name == w || name.starts_with(w + "/");
    });
    if (named) tables.push_back(load_table(name, ""));
  }
  if (tables.empty())
    throw LookupError({.id = "mlsysim.cli.122",
                       .message = "no table of measurements has this name",
                       .found = fmt::format("'{}'", fmt::join(request.targets, "', '")),
                       .expected = "names of tables or topics",
                       .hint = "mlsysim validate --list shows them"});
  std::vector<TableResult> results;
  for (const auto& t : tables) results.push_back(validate(t, zoo(), Depth::ours));
  return accuracy_pictures(results);
}

const std::vector<std::pair<std::string, Make>>& makers() {
  static const std::vector<std::pair<std::string, Make>> all{
      {"roofline", timed(roofline_picture)},
      {"waterfall", timed(waterfall_picture)},
      {"timeline", timed(timeline_picture)},
      {"schedule", plain(schedule_picture)},
      {"memory", plain(memory_picture)},
      {"memory-schedule", plain(memory_schedule_picture)},
      {"memory-timeline", plain(memory_timeline_picture)},
      {"costs", plain(costs_picture)},
      {"carbon", plain(carbon_picture)},
      {"tornado", tornado},
      {"difference", difference},
      {"curve", over_space(curve_picture)},
      {"heatmap", over_space(heat_map_picture)},
      {"histogram", histogram},
      {"pareto", front},
      {"topology", topology},
      {"layers", layers},
      {"pipeline", [](ScenarioRequest& request, const PlotRequest&) {
         return pipeline_picture(pipeline_asked({.words = request.targets, .links = {}}));
       }}};
  return all;
}

constexpr const char* kAccuracy = "accuracy";  // the one kind that may take several pictures

std::vector<NamedPicture> pictures_asked(ScenarioRequest& request, const PlotRequest& asked) {
  if (asked.kind == kAccuracy) return accuracy(request);
  std::vector<NamedPicture> out;
  for (const auto& [name, make] : makers())
    if (name == asked.kind) out.push_back({name, make(request, asked)});
  return out;
}

/// "study/collectives.svg" of the bandwidth is "study/collectives-bandwidth.svg".
std::string file_of(const std::string& file, std::string part) {
  for (char& c : part)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  std::filesystem::path path(file);
  const auto ending = path.extension().string();
  return path.replace_filename(fmt::format("{}-{}{}", path.stem().string(), part, ending)).string();
}

/// Title, size, font and words as they are asked.
void dress(Picture& picture, const PlotRequest& asked) {
  if (!asked.title.empty()) picture.title = asked.title;
  if (asked.font_size > 0) picture.style.font = asked.font_size;
  if (!asked.size.empty()) {
    const auto x = asked.size.find('x');
    const auto pixels = [&](const std::string& text) {
      double number = 0;
      const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (status != std::errc() || end != text.data() + text.size() ||
          !(number >= kLeastSide && number <= kMostSide))
        throw InputError(
            {.id = "mlsysim.cli.314",
             .message = "this is no size of a picture",
             .key = "--size",
             .found = fmt::format("'{}'", asked.size),
             .expected = fmt::format("WIDTHxHEIGHT, {} to {} pixels each", kLeastSide, kMostSide),
             .hint = "e.g. --size 480x320"});
      return number;
    };
    picture.style.width = pixels(asked.size.substr(0, x));
    picture.style.height = pixels(x == std::string::npos ? std::string() : asked.size.substr(x + 1));
  }
  for (const auto& label : asked.labels) {
    const auto equals = label.find('=');
    if (equals == std::string::npos)
      throw InputError({.id = "mlsysim.cli.315",
                        .message = "a label has two sides",
                        .key = "--label",
                        .found = fmt::format("'{}'", label),
                        .expected = "WORDS=TEXT",
                        .hint = "e.g. --label y='time per token'"});
    relabel(picture, label.substr(0, equals), label.substr(equals + 1));
  }
}

/// Renders the pictures: one after the other as text, or each into a file with its name.
Answer rendered(std::vector<NamedPicture> pictures, const PlotRequest& asked, PictureForm form,
                const Target& target, const files::WriteHow& how, std::size_t width) {
  const bool several = pictures.size() > 1;
  if (several && target.file.empty() && form != PictureForm::text) {
    std::vector<std::string> names;
    for (const auto& p : pictures) names.push_back(p.name);
    throw InputError({.id = "mlsysim.picture.011",
                      .message = "these tables take several pictures",
                      .key = "--output",
                      .found = fmt::format("{}", fmt::join(names, ", ")),
                      .expected = "a file, whose name each of them extends, or -o text",
                      .hint = fmt::format("e.g. -o accuracy.{}", name_of(form))});
  }
  std::string out;
  for (auto& [name, picture] : pictures) {
    dress(picture, asked);
    const auto bytes = render(picture, form, width);
    if (target.file.empty()) {
      out += (out.empty() ? "" : "\n") + bytes;
      continue;
    }
    const auto file = several ? file_of(target.file, name) : target.file;
    files::write(file, bytes, how);
    out += file + "\n";
  }
  return {out};
}

}  // namespace

const std::vector<std::string>& plot_kinds() {
  static const auto names = [] {
    std::vector<std::string> out;
    for (const auto& [name, make] : makers()) out.push_back(name);
    out.emplace_back(kAccuracy);
    return out;
  }();
  return names;
}

Answer plot(ScenarioRequest request, PlotRequest asked, const RenderOptions& options) {
  const auto target = target_of(asked.output);
  const auto form = choice_of<PictureForm>(target.form);
  if (!form && target.form != "trace")
    throw InputError(
        {.id = "mlsysim.cli.123",
         .message = "there is no such form of a picture",
         .key = "--output",
         .found = fmt::format("'{}'", asked.output),
         .expected = fmt::format("{}, trace, or a file that ends like one",
                                 fmt::join(Choices<PictureForm>::names, ", ")),
         .hint = did_you_mean(target.form, std::vector<std::string>(Choices<PictureForm>::names.begin(),
                                                                    Choices<PictureForm>::names.end()))});
  const files::WriteHow how{.replace = asked.force ? files::Replace::any : files::Replace::own,
                            .mark = "mlsysim"};
  if (!target.file.empty()) files::check_target(target.file, how);
  if (target.form != "trace")
    return rendered(pictures_asked(request, asked), asked, *form, target, how, options.width);
  if (asked.kind != "timeline" && asked.kind != "schedule")
    throw InputError({.id = "mlsysim.cli.124",
                      .message = "only what runs in time has a trace",
                      .key = "--output",
                      .found = fmt::format("trace of a {}", asked.kind),
                      .expected = "timeline or schedule",
                      .hint = "mlsysim plot timeline MODEL HARDWARE -o trace"});
  const auto metric = asked.kind == "timeline" ? popped_result(request) : std::string();
  auto bytes = chrome_trace(scenario_of(request).scenario, metric);
  if (target.file.empty()) return {std::move(bytes)};
  files::write(target.file, bytes, how);
  return {fmt::format("{}\n", target.file)};
}

Answer report(const ScenarioRequest& request, const ReportRequest& asked, const RenderOptions& options) {
  const auto target = target_of(asked.output);
  const bool words = target.form == "text" || target.form == "txt";
  if (target.form != "html" && target.form != "md" && target.form != "markdown" && !words &&
      !(target.form == "pdf" && !target.file.empty()))
    throw InputError({.id = "mlsysim.cli.127",
                      .message = "a report has no such form",
                      .key = "--output",
                      .found = fmt::format("'{}'", asked.output),
                      .expected = "html, md, --text, or a file that ends in .html, .md, .txt or .pdf",
                      .hint = "e.g. -o report.html"});
  const files::WriteHow how{.replace = asked.force ? files::Replace::any : files::Replace::own,
                            .mark = "mlsysim"};
  if (!target.file.empty()) files::check_target(target.file, how);
  std::optional<BuiltScenario> other;
  if (!asked.other.empty())
    other = scenario_of({.targets = {asked.other}, .fields = {}, .region = {}});
  else if (!asked.with.empty())
    other = changed_subject(request, asked.with).built;
  const auto built = scenario_of(request);
  auto page = report_page(built.scenario, other ? &other->scenario : nullptr, built.assumptions);
  auto limits = limits_at(subject_of(built.scenario), request.limits);
  if (!limits.empty()) page.answer += fmt::format(" Limits: {}.", words_of(limits));
  if (other && !limits.empty()) {
    auto others = limits_at(subject_of(other->scenario), request.limits);
    page.answer += fmt::format(" Limits of the other: {}.", words_of(others));
    std::move(others.begin(), others.end(), std::back_inserter(limits));
  }
  add_records(page, asked.records, asked.records_before);
  if (!asked.pipeline.empty())
    page.parts.push_back(
        {.heading = "Pipeline",
         .pictures = {pipeline_picture(pipeline_asked({.words = asked.pipeline, .links = {}}))}});
  auto how_shown = options;
  if (!target.file.empty()) how_shown.colour = Colour::off;
  const auto text = words ? to_text(page, how_shown, target.file.empty() ? columns_of_stdout() : 0)
                    : target.form == "html" ? to_html(page)
                                            : to_markdown(page);
  const Exit exit = all_met(limits) ? Exit::fine : Exit::assertion_failed;
  if (target.file.empty()) return {text, {}, exit};
  if (target.form == "pdf") {
    auto plain = page;
    for (auto& part : plain.parts)
      for (auto& detail : part.details) detail.html.clear();
    print_html(to_html(page), to_html(plain), target.file);
  } else {
    files::write(target.file, text, how);
  }
  return {fmt::format("{}\n", target.file), {}, exit};
}

}  // namespace mlsysim::cli
