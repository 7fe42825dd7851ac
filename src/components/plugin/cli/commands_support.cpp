#include "commands_plugin.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/model_files/known.hpp>
#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/model_graphs/representation.hpp>
#include <mlsysim/plugin/host.hpp>
#include <mlsysim/plugin/program.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace mlsysim::cli {
namespace {

using Json = nlohmann::ordered_json;

using plugin::ReasonCode;
using plugin::SupportAnswer;
using plugin::SupportReason;
using plugin::Verdict;

struct Row {
  std::string program, backend, device;
  SupportAnswer answer;
};

Row ask(const Workload& workload, const std::string& backend, const std::string& device,
        const SupportRequest& request, const std::string& source = {}) {
  Row row{workload.name, backend, device, {}};
  plugin::Program program;
  try {
    program = plugin::program_of(workload, zoo().at<HardwareNode>(device));
  } catch (const InputError& error) {
    // Only the totals of this model are known, so that "maybe" is the strongest answer.
    row.answer.reasons.push_back({plugin::ReasonCode::other, workload.name, 1, "", error.facts().message});
    return row;
  }
  program.source = source;
  row.answer = plugins().support(
      backend, program, device, request.effort,
      request.aggressive ? plugin::SupportMode::aggressive : plugin::SupportMode::conservative);
  return row;
}

/// One text for each pair of reason and operator: a network of fifty convolutions has one reason, not fifty.
std::string reasons_text(const SupportAnswer& a) {
  struct Kind {
    const plugin::SupportReason* first;
    double count;
  };
  std::vector<Kind> kinds;
  for (const auto& r : a.reasons) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) {
      return k.first->code == r.code && k.first->op == r.op;
    });
    if (same == kinds.end())
      kinds.push_back({&r, r.count});
    else
      same->count += r.count;
  }
  std::string out;
  for (const auto& k : kinds) {
    out += fmt::format("{}{} {} ({:g}{}{})", out.empty() ? "" : "; ", name_of(k.first->code), k.first->op,
                       k.count, k.first->location.empty() ? "" : ", first at ", k.first->location);
    // The hint of a version reason is shown, because it says what to ask the producer for.
    if (k.first->code == ReasonCode::version && !k.first->hint.empty()) out += ": " + k.first->hint;
  }
  return out;
}

Json json_of(const Row& r) {
  Json reasons = Json::array();
  for (const auto& x : r.answer.reasons)
    reasons.push_back({{"code", std::string(name_of(x.code))},
                       {"op", x.op},
                       {"count", x.count},
                       {"location", x.location},
                       {"hint", x.hint}});
  return {{"program", r.program},           {"backend", r.backend},
          {"hardware", r.device},           {"verdict", std::string(name_of(r.answer.verdict))},
          {"effort", r.answer.effort_used}, {"mode", std::string(name_of(r.answer.mode))},
          {"seconds", r.answer.seconds},    {"reasons", reasons}};
}

/// A program file, or why it could not be read.
struct AskedProgram {
  std::string path;
  std::optional<mlsysim::Program> program;
  std::optional<ModelFile> model;
  std::string source;  ///< what it is written in; empty: not known
  std::vector<SupportReason> refused, remarks;
};

/// Reads without failing: a version that is not known, an open size or a damaged file is a reason like any
/// other.
AskedProgram asked_program(const std::string& path) {
  AskedProgram a{path, {}, {}, {}, {}, {}};
  try {
    a.program = read_program(path);
    const auto written = representation_of(*a.program);
    a.source = written.text();
    for (const auto& late : written.late)
      a.remarks.push_back(
          {ReasonCode::version, late, 1, "", "text states no version; its operators bound it"});
    for (const auto& name : a.program->open)
      a.refused.push_back(
          {ReasonCode::unsupported_shape_dynamic, name, 1, "", fmt::format("bind it: {}?{}=1", path, name)});
    if (a.program->open.empty()) a.model = program_model(*a.program);
  } catch (const Error& error) {
    const auto& f = error.facts();
    const bool version = f.key == "version" || f.key == "opset_import" || f.key == "schema_version";
    a.refused.push_back({version ? ReasonCode::version : ReasonCode::other, f.found, 1, f.where.text(),
                         f.message + (f.hint.empty() ? "" : ": " + f.hint)});
    // The head of an artifact states its version, whether or not its operators are read.
    if (const auto head = files::try_read(path.substr(0, path.rfind('?')));
        head.fault == files::ReadFault::none)
      if (const auto written = representation_of(std::string_view(head.bytes))) a.source = written->text();
  }
  return a;
}

/// Says whether this library can estimate a program on a device, with the reasons.
SupportAnswer own_answer(const AskedProgram& asked, const HardwareNode& device) {
  SupportAnswer answer;
  answer.verdict = Verdict::yes;
  answer.reasons = asked.refused;
  answer.reasons.insert(answer.reasons.end(), asked.remarks.begin(), asked.remarks.end());
  if (!asked.program) {
    answer.verdict = Verdict::no;
    return answer;
  }
  if (!asked.refused.empty()) answer.verdict = Verdict::maybe;
  for (const auto& [name, count] : asked.program->unknown) {
    answer.reasons.push_back(
        {name.find('.') == std::string::npos ? ReasonCode::unknown_op : ReasonCode::custom_call_unknown, name,
         count, "", "priced by what it reads and writes"});
    answer.verdict = Verdict::maybe;
  }
  const auto sums = totals_of(*asked.program);
  const double needs = sums.weight_bytes + sums.peak_activations;
  if (device.memory.capacity && needs > device.memory.capacity->base()) {
    answer.reasons.push_back({ReasonCode::memory, "weights and activations", 1, "",
                              fmt::format("{:.4g} B of {:.4g} B", needs, device.memory.capacity->base())});
    answer.verdict = Verdict::no;
  }
  return answer;
}

/// Rows of a program file: every device by this library, every device of every plugin.
/// @return what the program computes as one number; nothing where it was not read to its end
std::optional<std::uint64_t> ask_about_file(const std::string& path, const SupportRequest& request,
                                            std::vector<Row>& rows) {
  const auto asked = asked_program(path);
  if (request.backend.empty() || request.backend == "mlsysim")
    for (const auto* device : zoo().all<HardwareNode>())
      if (request.hardware.empty() || device->name == request.hardware)
        rows.push_back({path, "mlsysim", device->name, own_answer(asked, *device)});
  for (const auto& b : plugins().backends()) {
    if (!request.backend.empty() && b.name != request.backend && !b.name.ends_with("/" + request.backend))
      continue;
    for (const auto& device : b.devices) {
      if (!request.hardware.empty() && device != request.hardware) continue;
      if (asked.model) {
        rows.push_back(ask(asked.model->workload, b.name, device, request, asked.source));
        rows.back().program = path;
      } else {
        // Nothing can be handed over; what the plugin takes of versions is asked all the same.
        SupportAnswer answer;
        answer.reasons = asked.refused;
        if (auto why = plugins().refused_version(b.name, asked.source)) {
          answer.verdict = Verdict::no;
          answer.reasons.insert(answer.reasons.begin(), std::move(*why));
        } else {
          const bool known = asked.program || !asked.source.empty();
          const bool version = std::any_of(asked.refused.begin(), asked.refused.end(),
                                           [](const auto& r) { return r.code == ReasonCode::version; });
          answer.verdict = known && !version ? Verdict::maybe : Verdict::no;
        }
        rows.push_back({path, b.name, device, std::move(answer)});
      }
    }
  }
  return asked.model ? std::optional(structure_digest(asked.model->workload)) : std::nullopt;
}

Answer shown(const std::vector<Row>& rows, const RenderOptions& options);

}  // namespace

Answer support(const SupportRequest& request, const RenderOptions& options) {
  if (!request.files.empty()) {
    std::vector<Row> rows;
    std::string notes;
    std::map<std::uint64_t, std::string> read;  // programs by what they compute
    for (const auto& path : request.files)
      if (const auto program = ask_about_file(path, request, rows)) {
        const auto [first, fresh] = read.emplace(*program, path);
        if (!fresh)
          notes += fmt::format("mlsysim: note: {} is the same program as {}\n", path, first->second);
      }
    if (rows.empty())
      throw LookupError({.id = "mlsysim.cli.140",
                         .message = "no device of this name and backend is known",
                         .key = "--hardware",
                         .found = fmt::format("'{}' of '{}'", request.hardware, request.backend),
                         .expected = "a device of the zoo, or of a backend",
                         .hint = "mlsysim zoo list hardware"});
    auto answer = shown(rows, options);
    answer.diagnostics += notes;
    return answer;
  }
  const auto backends = plugins().backends();
  std::vector<std::string> known;
  for (const auto& b : backends) known.push_back(b.name);
  const auto wanted = [&](const std::string& name) {
    return request.backend.empty() || name == request.backend || name.ends_with("/" + request.backend);
  };
  if (backends.empty() || std::none_of(known.begin(), known.end(), wanted))
    throw LookupError({.id = "mlsysim.cli.070",
                       .message = backends.empty() ? "no plugin brings a backend"
                                                   : fmt::format("there is no backend '{}'", request.backend),
                       .key = "--backend",
                       .found = backends.empty() ? "none" : fmt::format("'{}'", request.backend),
                       .expected = known.empty() ? "a plugin with a backend"
                                                 : fmt::format("one of {}", fmt::join(known, ", ")),
                       .hint = did_you_mean(request.backend, known)});
  std::vector<const Workload*> programs;
  if (request.program.empty())
    programs.assign(zoo().all<Workload>().begin(), zoo().all<Workload>().end());
  else
    programs.push_back(&zoo().at<Workload>(request.program));
  std::vector<Row> rows;
  std::vector<std::string> devices;
  for (const auto& b : backends) {
    if (!wanted(b.name)) continue;
    for (const auto& device : b.devices) {
      devices.push_back(device);
      if (!request.hardware.empty() && device != request.hardware) continue;
      for (const auto* program : programs) rows.push_back(ask(*program, b.name, device, request));
    }
  }
  if (rows.empty())
    throw LookupError({.id = "mlsysim.cli.071",
                       .message = fmt::format("no backend knows the hardware '{}'", request.hardware),
                       .key = "--hardware",
                       .found = fmt::format("'{}'", request.hardware),
                       .expected = fmt::format("one of {}", fmt::join(devices, ", ")),
                       .hint = did_you_mean(request.hardware, devices)});
  return shown(rows, options);
}

namespace {

/// More answers than these are counted for each device.
constexpr std::size_t kRowsListed = 16;

/// How many programs run, may run and do not, in one line.
std::string verdict(const std::vector<Row>& rows) {
  if (rows.size() == 1) {
    const Row& r = rows[0];
    const char* says = r.answer.verdict == Verdict::yes  ? "RUNS"
                       : r.answer.verdict == Verdict::no ? "DOES NOT RUN"
                                                         : "MAY RUN";
    return fmt::format("{}: {} on {} with {}.\n", says, r.program, r.device, r.backend);
  }
  std::map<Verdict, std::size_t> count;
  for (const auto& r : rows) ++count[r.answer.verdict];
  return fmt::format("Of {} answers {} are yes, {} are maybe, {} are no.\n", rows.size(), count[Verdict::yes],
                     count[Verdict::maybe], count[Verdict::no]);
}

Table each(const std::vector<Row>& rows) {
  Table t{.schema = "mlsysim/table@1",
          .title = "support",
          .columns = {{"program"}, {"backend"}, {"hardware"}, {"verdict"}, {"effort"}, {"reasons"}}};
  for (const auto& r : rows)
    t.rows.push_back({r.program, r.backend, r.device, name_of(r.answer.verdict),
                      static_cast<double>(r.answer.effort_used), reasons_text(r.answer)});
  return t;
}

/// Verdicts of each device of a backend, with the reason that most of its programs have.
Table by_device(const std::vector<Row>& rows) {
  struct Counts {
    std::map<Verdict, double> verdicts;
    std::map<std::string, double> reasons;
  };
  std::map<std::pair<std::string, std::string>, Counts> devices;
  for (const auto& r : rows) {
    Counts& c = devices[{r.backend, r.device}];
    ++c.verdicts[r.answer.verdict];
    std::set<std::string> once;
    for (const auto& x : r.answer.reasons)
      once.insert(fmt::format("{}{}{}", name_of(x.code), x.op.empty() || x.op == r.program ? "" : " ",
                              x.op == r.program ? "" : x.op));
    for (const auto& reason : once) ++c.reasons[reason];
  }
  Table t{.schema = "mlsysim/table@1",
          .title = "support",
          .columns = {{"backend"}, {"hardware"}, {"yes"}, {"maybe"}, {"no"}, {"most frequent reason"}},
          .footer = "each program: --verbose, or name one"};
  for (auto& [device, c] : devices) {
    const auto most = std::max_element(c.reasons.begin(), c.reasons.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    t.rows.push_back({device.first, device.second, c.verdicts[Verdict::yes], c.verdicts[Verdict::maybe],
                      c.verdicts[Verdict::no],
                      most == c.reasons.end() ? "" : fmt::format("{} ({:g})", most->first, most->second)});
  }
  return t;
}

Answer shown(const std::vector<Row>& rows, const RenderOptions& options) {
  Answer out;
  if (options.format == OutputFormat::json) {
    Json all = Json::array();
    for (const auto& r : rows) all.push_back(json_of(r));
    out.payload = detail::json_document(Json({{"schema", "mlsysim/support@1"}, {"answers", all}}));
  } else {
    const bool all = options.format != OutputFormat::text || options.verbosity == Verbosity::verbose ||
                     rows.size() <= kRowsListed;
    if (options.format == OutputFormat::text) out.payload = verdict(rows);
    out.payload += render(all ? each(rows) : by_device(rows), options);
  }
  if (rows.size() == 1)
    out.exit = rows[0].answer.verdict == plugin::Verdict::yes  ? Exit::fine
               : rows[0].answer.verdict == plugin::Verdict::no ? Exit::bad_input
                                                               : kMaybe;
  return out;
}

}  // namespace

Answer plugin_import(const std::string& importer, const std::string& file) {
  (void)load_plugins();
  const auto bytes = files::read(file, "a file for the importer");
  return {plugins().import_text(importer, file, bytes)};
}

Answer plugin_export(const std::string& exporter, const std::string& entry) {
  (void)load_plugins();
  ObjectRef object;
  ZooSpecs::for_each([&]<class T>() {
    if (const T* found = zoo().find<T>(entry); found != nullptr && object.object == nullptr)
      object = {found, ObjectType<T>::name};
  });
  if (object.object == nullptr)
    throw LookupError({.id = "mlsysim.cli.073",
                       .message = fmt::format("there is no entry '{}'", entry),
                       .key = entry,
                       .found = fmt::format("'{}'", entry),
                       .expected = "the name of an entry of the zoo",
                       .hint = "mlsysim zoo search finds names"});
  return {plugins().export_text(exporter, object)};
}

}  // namespace mlsysim::cli
