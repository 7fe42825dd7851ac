/// The shipped units, aliases and refusals. `unit::` constants are tested against this table.

#include <mlsysim/units/standard_units.hpp>

#include <atomic>
#include <deque>
#include <utility>

namespace mlsysim {
namespace {

// Conventions: a month is 30 days and a year 365 days, as in the rates that clouds publish; a bit is 1/8
// byte.
// clang-format off
// Functions, not globals: another file may ask for the table while it initializes its own globals.
std::vector<UnitDef> unit_rows() {
  return {
      {"s", {.time = 1}, 1, 1, "num", "", "second"},
      {"min", {.time = 1}, 60, 1, "", "", "minute"},
      {"h", {.time = 1}, 3600, 1, "", "", "hour"},
      {"d", {.time = 1}, 86400, 1, "", "", "day"},
      {"month", {.time = 1}, 2592000, 1, "", "", "month of 30 days, by convention"},
      {"yr", {.time = 1}, 31536000, 1, "", "", "year of 365 days, by convention"},
      {"B", {.data = 1}, 1, 1, "kMGTPE", "KMGTP", "byte; GB is 1e9 B, GiB is 2^30 B"},
      {"bit", {.data = 1}, 1, 8, "kMGTPE", "KMGTP", "bit, 1/8 byte"},
      {"FLOP", {.work = 1}, 1, 1, "kMGTPEZ", "", "floating-point operation; an amount, not a rate"},
      {"OP", {.work = 1}, 1, 1, "kMGTPEZ", "", "operation of any kind, integer too; same dimension as FLOP"},
      {"token", {.token = 1}, 1, 1, "kMGT", "", "token"},
      {"sample", {.sample = 1}, 1, 1, "kMGT", "", "sample: one image, sequence or row of a data set"},
      {"request", {.request = 1}, 1, 1, "kMGT", "", "request to a serving system"},
      {"param", {.param = 1}, 1, 1, "kMGT", "", "parameter of a model"},
      {"USD", {.money = 1}, 1, 1, "kMG", "", "US dollar, the one accounting unit"},
      {"gCO2e", {.carbon = 1}, 1, 1, "umk", "", "gram of CO2 equivalent"},
      {"tCO2e", {.carbon = 1}, 1e6, 1, "kM", "", "tonne of CO2 equivalent"},
      {"J", {.energy = 1}, 1, 1, "pnumkMGT", "", "joule"},
      {"Wh", {.energy = 1}, 3600, 1, "kMGT", "", "watt-hour"},
      {"L", {.water = 1}, 1, 1, "mkM", "", "litre"},
      {"W", {.time = -1, .energy = 1}, 1, 1, "umkMG", "", "watt, J/s"},
      {"Hz", {.time = -1}, 1, 1, "kMG", "", "hertz, 1/s"},
      {"count", {}, 1, 1, "", "", "plain number"},
      {"%", {}, 1, 100, "", "", "percent, 1/100"},
  };
}

std::vector<UnitAlias> shipped_aliases() {
  return {
      // time
      {"sec", "s"}, {"secs", "s"}, {"second", "s"}, {"seconds", "s"}, {"msec", "ms"}, {"usec", "us"},
      {"nsec", "ns"}, {"µs", "us"}, {"μs", "us"}, {"mins", "min"}, {"minute", "min"}, {"minutes", "min"},
      {"hr", "h"}, {"hrs", "h"}, {"hour", "h"}, {"hours", "h"}, {"day", "d"}, {"days", "d"},
      {"months", "month"}, {"year", "yr"}, {"years", "yr"}, {"yrs", "yr"},
      // data and its rates
      {"byte", "B"}, {"bytes", "B"}, {"KB", "kB"}, {"bits", "bit"}, {"Mb", "Mbit"}, {"Gb", "Gbit"},
      {"Tb", "Tbit"}, {"bps", "bit/s"}, {"kbps", "kbit/s"}, {"Kbps", "kbit/s"}, {"Mbps", "Mbit/s"},
      {"Gbps", "Gbit/s"}, {"Tbps", "Tbit/s"}, {"kBps", "kB/s"}, {"MBps", "MB/s"}, {"GBps", "GB/s"},
      {"TBps", "TB/s"},
      // work and its rates
      {"FLOPs", "FLOP"}, {"kFLOPs", "kFLOP"}, {"MFLOPs", "MFLOP"}, {"GFLOPs", "GFLOP"}, {"TFLOPs", "TFLOP"},
      {"PFLOPs", "PFLOP"}, {"EFLOPs", "EFLOP"}, {"ZFLOPs", "ZFLOP"}, {"op", "OP"}, {"ops", "OP"},
      {"flop", "FLOP"}, {"flops", "FLOP"}, {"kflop", "kFLOP"}, {"KFLOP", "kFLOP"}, {"KFLOPs", "kFLOP"},
      {"Mflop", "MFLOP"}, {"Gflop", "GFLOP"}, {"Tflop", "TFLOP"}, {"Pflop", "PFLOP"}, {"Eflop", "EFLOP"},
      {"Zflop", "ZFLOP"},
      {"MOPS", "MOP/s"}, {"GOPS", "GOP/s"}, {"TOPS", "TOP/s"}, {"POPS", "POP/s"},
      // counts
      {"tok", "token"}, {"toks", "token"}, {"tokens", "token"}, {"ktokens", "ktoken"}, {"Mtokens", "Mtoken"},
      {"Gtokens", "Gtoken"}, {"Ttokens", "Ttoken"}, {"samples", "sample"}, {"requests", "request"},
      {"req", "request"}, {"reqs", "request"}, {"params", "param"}, {"kparams", "kparam"},
      {"Mparams", "Mparam"}, {"Gparams", "Gparam"}, {"Tparams", "Tparam"}, {"parameter", "param"},
      {"parameters", "param"}, {"Kparam", "kparam"}, {"Bparam", "Gparam"}, {"Ktoken", "ktoken"},
      {"Btoken", "Gtoken"}, {"dimensionless", "count"}, {"counts", "count"},
      // money, carbon, energy, water, fractions
      {"usd", "USD"}, {"$", "USD"}, {"dollar", "USD"}, {"dollars", "USD"}, {"gCO2", "gCO2e"}, {"kgCO2", "kgCO2e"}, {"tCO2", "tCO2e"},
      {"gCO2eq", "gCO2e"}, {"kgCO2eq", "kgCO2e"}, {"tCO2eq", "tCO2e"}, {"g CO2e", "gCO2e"},
      {"kg CO2e", "kgCO2e"}, {"t CO2e", "tCO2e"}, {"g CO2", "gCO2e"}, {"kg CO2", "kgCO2e"},
      {"t CO2", "tCO2e"}, {"µJ", "uJ"}, {"μJ", "uJ"}, {"µW", "uW"}, {"μW", "uW"}, {"joule", "J"},
      {"joules", "J"}, {"watt", "W"}, {"watts", "W"}, {"liter", "L"}, {"liters", "L"}, {"litre", "L"},
      {"litres", "L"}, {"percent", "%"}, {"pct", "%"},
  };
}

constexpr const char* kPrefixAlone =
    "a prefix alone is no unit: write what is counted, e.g. 'Gparam', 'Mtoken', 'GB'";
constexpr const char* kMoney = "money has one unit, USD: convert with a dated exchange rate first";
constexpr const char* kCarbon =
    "write 'gCO2e', 'kgCO2e' or 'tCO2e' for greenhouse gas; other masses are not used";

std::vector<UnitRefusal> shipped_refusals() {
  return {
      {"kOPs", "write 'kOP/s' for a rate, or 'kOP' for an amount"},
      {"OPs", "write 'OP/s' for a rate, or 'OP' for an amount"},
      {"MOPs", "write 'MOP/s' for a rate, or 'MOP' for an amount"},
      {"GOPs", "write 'GOP/s' for a rate, or 'GOP' for an amount"},
      {"TOPs", "write 'TOP/s' for a rate, or 'TOP' for an amount"},
      {"POPs", "write 'POP/s' for a rate, or 'POP' for an amount"},
      {"OPS", "write 'OP/s' for a rate, or 'OP' for an amount"},
      {"FLOPS", "write 'FLOP/s' for a rate, or 'FLOP' for an amount"},
      {"kFLOPS", "write 'kFLOP/s' for a rate, or 'kFLOP' for an amount"},
      {"MFLOPS", "write 'MFLOP/s' for a rate, or 'MFLOP' for an amount"},
      {"GFLOPS", "write 'GFLOP/s' for a rate, or 'GFLOP' for an amount"},
      {"TFLOPS", "write 'TFLOP/s' for a rate, or 'TFLOP' for an amount"},
      {"PFLOPS", "write 'PFLOP/s' for a rate, or 'PFLOP' for an amount"},
      {"EFLOPS", "write 'EFLOP/s' for a rate, or 'EFLOP' for an amount"},
      {"ZFLOPS", "write 'ZFLOP/s' for a rate, or 'ZFLOP' for an amount"},
      {"kwh", "write 'kWh'"},
      {"kWH", "write 'kWh'"},
      {"KWh", "write 'kWh'"},
      {"b", "write 'bit' or 'B' (byte)"},
      {"kb", "write 'kB' (bytes) or 'kbit' (bits)"},
      {"Kb", "write 'kB' (bytes) or 'kbit' (bits)"},
      {"k", kPrefixAlone},
      {"M", kPrefixAlone},
      {"G", kPrefixAlone},
      {"T", kPrefixAlone},
      {"P", kPrefixAlone},
      {"E", kPrefixAlone},
      {"C", "temperatures are not used here; their scales have an offset"},
      {"K", "temperatures are not used here; for a factor of 1000 write 'k' before a unit, e.g. 'ktoken'"},
      {"m", "write 'min', 'ms' or 'month'; lengths are not used here"},
      {"l", "write 'L' (litre)"},
      {"y", "write 'yr' (365 days)"},
      {"g", kCarbon},
      {"kg", kCarbon},
      {"t", kCarbon},
      {"qps", "write 'request/s'"},
      {"QPS", "write 'request/s'"},
      {"EUR", kMoney},
      {"€", kMoney},
      {"GBP", kMoney},
      {"£", kMoney},
      {"CNY", kMoney},
      {"JPY", kMoney},
  };
}

// clang-format on

UnitRegistry shipped() {
  UnitRegistry registry;
  for (const auto& unit : unit_rows()) registry.add(unit);
  for (const auto& alias : shipped_aliases()) registry.add_alias(alias);
  for (const auto& refusal : shipped_refusals()) registry.add_refusal(refusal);
  return registry;
}

std::atomic<const UnitRegistry*> published{nullptr};

}  // namespace

const UnitRegistry& shipped_units() {
  static const UnitRegistry registry = shipped();
  return registry;
}

const UnitRegistry& UnitRegistry::standard() {
  const auto* units = published.load(std::memory_order_acquire);
  return units != nullptr ? *units : shipped_units();
}

void publish_units(UnitRegistry units) {
  // Readers may hold references to any table there ever was, so none is freed.
  static auto& kept = *new std::deque<UnitRegistry>;
  published.store(&kept.emplace_back(std::move(units)), std::memory_order_release);
}

}  // namespace mlsysim
