#include <mlsysim/intervals/residual_groups.hpp>

#include <mlsysim/intervals/model_error.hpp>

#include <mlsysim/files/csv.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/units/detail/quoted.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mlsysim {
namespace {

std::filesystem::path shipped_residuals() { return zoo_directory() / "validation" / "residuals.csv"; }

constexpr std::string_view kHint = "write it afresh: mlsysim validate --write-residuals FILE";

/// Texts of a group, by their columns.
struct TextColumn {
  std::string_view name;
  std::string& (*text)(ResidualGroup&);
};
constexpr TextColumn kTexts[] = {
    {"metric", [](ResidualGroup& g) -> std::string& { return g.subject.metric; }},
    {"device", [](ResidualGroup& g) -> std::string& { return g.subject.device; }},
    {"generation", [](ResidualGroup& g) -> std::string& { return g.subject.generation; }},
    {"origin", [](ResidualGroup& g) -> std::string& { return g.subject.origin; }},
    {"family", [](ResidualGroup& g) -> std::string& { return g.subject.family; }},
    {"table", [](ResidualGroup& g) -> std::string& { return g.table; }},
    {"software", [](ResidualGroup& g) -> std::string& { return g.subject.software; }},
    {"link", [](ResidualGroup& g) -> std::string& { return g.subject.link; }}};

/// Reads groups and keeps every fault.
class GroupReader {
 public:
  explicit GroupReader(const CsvTable& table) : table_(table) {
    for (const auto& [name, text] : kTexts) texts_.push_back(table.column(name));
    measured_ = table.column("measured");
    unmeasured_ = table.column("unmeasured");
    rows_ = table.column("rows");
    residuals_ = table.column("residuals");
  }

  std::vector<ResidualGroup> read() {
    std::vector<ResidualGroup> out(table_.rows());
    for (std::size_t r = 0; r < out.size(); ++r) read(r, out[r]);
    if (problems_.empty()) return out;
    const auto title = fmt::format("{}: {} problems", table_.file(), problems_.size());
    throw ErrorList({.id = "mlsysim.intervals.002", .message = title}, std::move(problems_));
  }

 private:
  void fault(std::size_t row, std::size_t column, std::string message, std::string expected) {
    problems_.push_back({.id = "mlsysim.intervals.001",
                         .message = std::move(message),
                         .key = table_.columns()[column],
                         .found = fmt::format("'{}'", table_.text(row, column)),
                         .expected = std::move(expected),
                         .hint = std::string(kHint),
                         .where = table_.where(row, column)});
  }
  bool flag(std::size_t row, std::size_t column) {
    const auto text = table_.text(row, column);
    if (text != "0" && text != "1") fault(row, column, "a flag is neither 0 nor 1", "0 or 1");
    return text == "1";
  }
  void read(std::size_t row, ResidualGroup& g) {
    for (std::size_t t = 0; t < texts_.size(); ++t) kTexts[t].text(g) = table_.text(row, texts_[t]);
    if (g.subject.metric.empty()) fault(row, texts_[0], "a group has no metric", "what was measured");
    g.subject.measured = flag(row, measured_);
    g.unmeasured = flag(row, unmeasured_);
    const auto count = table_.text(row, rows_);
    if (const auto [stop, failed] = std::from_chars(count.data(), count.data() + count.size(), g.rows);
        failed != std::errc{} || stop != count.data() + count.size() || g.rows == 0)
      fault(row, rows_, "the rows of a group are no count", "a whole number from 1");
    const auto list = table_.text(row, residuals_);
    for (const char *at = list.data(), *const end = at + list.size(); at != end;) {
      int thousandths = 0;
      const auto [stop, failed] = std::from_chars(at, end, thousandths);
      if (failed != std::errc{} || (stop != end && *stop != ' '))
        return fault(row, residuals_, "a residual is not a number",
                     "thousandths of logarithms, between blanks");
      g.residuals.push_back(thousandths / 1000.0);
      at = stop == end ? end : stop + 1;
    }
    if (g.residuals.empty()) fault(row, residuals_, "a group has no residuals", "at least one");
    std::ranges::sort(g.residuals);
  }

  const CsvTable& table_;
  std::vector<std::size_t> texts_;
  std::size_t measured_ = 0, unmeasured_ = 0, rows_ = 0, residuals_ = 0;
  std::vector<ErrorFacts> problems_;
};

}  // namespace

void note_device(ErrorSubject& about, const HardwareNode* device) {
  if (device == nullptr) return;
  about.device = device->name;
  about.generation = device->device_class != nullptr ? device->device_class->name : std::string();
  bool own = false;
  const auto look = [&]<class Figures>(const Figures& figures) {
    for_each_field<Figures>([&](const auto& row) { own = own || (figures.*row.member).has_value(); });
  };
  look(device->efficiency);
  look(device->kernels);
  for (const auto name : {kProducts, kAttention, kCollectives})
    for (const auto& constants : standard_zoo().at<KernelFamily>(name).generations)
      own = own || measured_on(constants, *device);
  about.measured = own;
}

void note_engine(ErrorSubject& about, const ServingEngine& engine) {
  about.origin = about.software = engine.name;
  // A release or variant is called after what it extends: "vllm@0.12", "tensorrt_llm_cpp".
  for (const ServingEngine* e = engine.extends; e != nullptr && about.software.starts_with(e->name);
       e = e->extends)
    about.software = e->name;
}

std::string link_kind(const HardwareNode& device, const Node* node, double devices) {
  constexpr double usual = 8;
  if (!(devices > 1)) return {};
  const double joined =
      node == nullptr ? usual : node->domain_accelerators.value_or(node->accelerators_per_node);
  if (devices > joined) return "network";
  return joined_by_bus(device, node) ? "host bus" : "device link";
}

HardwareNode as_of_its_class(HardwareNode device) {
  device.efficiency = {};
  device.draw = {};
  device.power.idle.reset();
  device.kernels = {};
  device.tiles = {};
  device.collectives = {};
  device.entry = nullptr;  // on which nothing was measured
  device.same_die = nullptr;
  return device;
}

std::vector<double> thinned(std::vector<double> residuals) {
  std::sort(residuals.begin(), residuals.end());
  if (residuals.size() <= kMostResiduals) return residuals;
  std::vector<double> out;
  for (std::size_t i = 0; i < kMostResiduals; ++i) {
    const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(kMostResiduals) *
                      static_cast<double>(residuals.size());
    out.push_back(residuals[static_cast<std::size_t>(at)]);
  }
  return out;
}

std::vector<ResidualGroup> parse_residual_groups(std::string text, std::string name) {
  const auto table = CsvTable::parse(std::move(text), std::move(name));
  return GroupReader(table).read();
}

std::vector<ResidualGroup> read_residual_groups(const std::filesystem::path& file) {
  const auto table = CsvTable::read(file.empty() ? shipped_residuals() : file);
  return GroupReader(table).read();
}

std::vector<ResidualGroup> read_residual_groups_of(std::string_view metric) {
  const auto file = shipped_residuals();
  static const std::string bytes = files::try_read(file).bytes;  // one answer asks for several metrics
  std::string kept;
  for (std::string_view rest = bytes; !rest.empty();) {
    const auto line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    rest.remove_prefix(line.size());
    if (kept.empty() || (line.starts_with(metric) && line.substr(metric.size()).starts_with(',')))
      kept += line;
  }
  try {
    return parse_residual_groups(std::move(kept), file.generic_string());
  } catch (const Error&) {
    return read_residual_groups();  // says where the fault is
  }
}

BandFactors read_band_factors() {
  const auto table = CsvTable::read(zoo_directory() / "validation" / "residual_factors.csv");
  BandFactors out;
  const auto kind = table.column("kind");
  for (std::size_t r = 0; r < table.rows(); ++r) {
    auto& levels = out[std::string(table.text(r, kind))].emplace_back();
    for (const int level : kIntervalLevels)
      levels.push_back(table.number(r, table.column(std::to_string(level))));
  }
  return out;
}

std::string_view kind_of(std::string_view metric) {
  const auto* at = std::ranges::find(kMeasuredMetrics, metric, &MeasuredMetric::key);
  return at != std::end(kMeasuredMetrics) ? at->kind : "other";
}

std::string to_csv(std::span<const ResidualGroup> groups) {
  std::string out(kResidualsHead);
  for (auto g : groups) {
    for (const auto& [name, text] : kTexts) out += detail::csv_field(text(g)) + ",";
    out += fmt::format("{:d},{:d},{},", g.subject.measured, g.unmeasured, g.rows);
    for (const double r : g.residuals) out += fmt::format("{} ", std::lround(1000 * r));
    out.back() = '\n';
  }
  return out;
}

std::string factors_csv(std::string residuals) {
  const ErrorBook book(parse_residual_groups(std::move(residuals), "residuals"));
  std::string out(kFactorsHead);
  for (const auto& [kind, factors] : book.factors())
    for (std::size_t apart = 0; apart < factors.size(); ++apart)
      out += fmt::format("{},{},{}\n", kind, apart, fmt::join(factors[apart], ","));
  return out;
}

}  // namespace mlsysim
