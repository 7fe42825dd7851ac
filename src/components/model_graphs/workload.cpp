// From a program to a workload of operators.

#include "detail/amounts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace mlsysim {
namespace {

/// Additions that the units of a device do in the time of one root, exponential or division: 128 of them in a
/// cycle against 16. @cite nvidia2024cudaguide, arithmetic instructions throughput (compute
/// capability 8.0, 9.0)
constexpr double kTranscendental = 8;

/// Numbers of layers replaced, so that layers that are alike have one name.
std::string collapsed(std::string_view path, std::string_view name) {
  std::string out;
  for (const char c : path) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (digit && !out.empty() && out.back() == '*') continue;
    out += digit ? '*' : c;
  }
  if (!out.empty()) out += '/';
  return out + std::string(name);
}

std::optional<double> amount(double x) { return x > 0 ? std::optional(x) : std::nullopt; }

ListedOperator record(const Program& p, const ProgramOp& op, const detail::OpAmounts& a, double unit) {
  ListedOperator r;
  r.path = collapsed(op.path, op.name);
  r.op = op.kind;
  if (op.times != 1) r.times = op.times;
  const auto weight = [&](std::size_t i) {
    return op.operands.size() > i && p.values[op.operands[i]].role == ValueRole::weight;
  };
  if (op.kind == ListedKind::product || op.kind == ListedKind::convolution) {
    // Rows are those of the activations.
    const bool left = op.kind == ListedKind::product && weight(0) && !weight(1);
    r.rows = left ? op.columns : op.rows;
    r.columns = left ? op.rows : op.columns;
    r.depth = op.depth;
    if (op.copies != 1) r.copies = op.copies;
    r.weighted = weight(0) != weight(1);
  }
  r.fixed = !op.operands.empty() && std::all_of(op.operands.begin(), op.operands.end(), [&](std::uint32_t v) {
    return p.values[v].role != ValueRole::activation;
  });
  r.flops = amount(op.flops + kTranscendental * op.transcendentals);
  r.reads = amount(a.reads / unit);
  r.writes = amount(a.writes / unit);
  r.fused_reads = amount(a.fused_reads / unit);
  r.fused_writes = amount(a.fused_writes / unit);
  r.weights = amount(a.weights / unit);
  r.stored = amount(a.stored / unit / op.times);  // once, however often a loop around it runs
  r.bytes = amount(a.others);
  r.alive = amount(a.alive / unit);
  return r;
}

bool alike(const ListedOperator& a, const ListedOperator& b) {
  bool same = true;
  for_each_field<ListedOperator>([&](const auto& row) {
    if (row.name != "times" && row.name != "stored" && row.name != "alive")
      same = same && a.*(row.member) == b.*(row.member);
  });
  return same && a.stored.has_value() == b.stored.has_value();
}

}  // namespace

Workload program_workload(const Program& p) {
  if (!p.open.empty())
    throw InputError(
        "mlsysim.programs.011", "sizes of the program are open", p.open.front(),
        fmt::format("{}", fmt::join(p.open, ", ")), "a number for each of them",
        fmt::format("bind them, as in --dim {}=1, or in the path: file?{}=1 (loops: --trip-count)",
                    p.open.front(), p.open.front()),
        {p.name}, BreakReason::dynamic_shape);
  Workload w;
  w.architecture = Architecture::program;
  w.category = "program";
  const double unit = main_format(p).bits / 8;
  const auto amounts = detail::amounts_of(p);
  std::vector<std::vector<ListedOperator>> kernels;
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    const auto& op = p.ops[i];
    if (!detail::works(op)) continue;
    if (op.kernel >= kernels.size()) kernels.resize(op.kernel + 1);
    kernels[op.kernel].push_back(record(p, op, amounts[i], unit));
  }
  for (auto& k : kernels) {
    // A product is what the kernel is; what it takes along may stand before it.
    std::stable_partition(k.begin(), k.end(), [](const ListedOperator& r) { return r.rows.has_value(); });
    for (std::size_t i = 1; i < k.size(); ++i) k[i].joined = true;
  }
  // Kernels that are alike are one, as often; its weights and what is alive are those of all and of the
  // largest.
  std::unordered_map<std::string, std::vector<std::size_t>> by_name;
  std::vector<std::vector<ListedOperator>> unlike;
  for (auto& k : kernels) {
    if (k.empty()) continue;
    auto& same_name = by_name[k.front().path];
    const auto found = std::find_if(same_name.begin(), same_name.end(), [&](std::size_t at) {
      return std::equal(k.begin(), k.end(), unlike[at].begin(), unlike[at].end(), alike);
    });
    if (found == same_name.end()) {
      same_name.push_back(unlike.size());
      unlike.push_back(std::move(k));
      continue;
    }
    auto& into = unlike[*found];
    for (std::size_t i = 0; i < k.size(); ++i) {
      const double had = into[i].times.value_or(1), more = k[i].times.value_or(1);
      if (into[i].stored) into[i].stored = (*into[i].stored * had + *k[i].stored * more) / (had + more);
      into[i].alive = amount(std::max(into[i].alive.value_or(0), k[i].alive.value_or(0)));
      into[i].times = had + more;
    }
  }
  for (auto& k : unlike)
    for (auto& r : k) w.operators.push_back(std::move(r));
  return w;
}

}  // namespace mlsysim
