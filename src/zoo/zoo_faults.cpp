#include "detail/zoo_faults.hpp"

#include <array>

namespace mlsysim::detail {
namespace {

// Ids are stable: never renumber, only append.
constexpr std::array<ZooFaultText, 42> kFaults{{
    {ZooFault::no_file, "mlsysim.zoo.001", "a file that is to be read does not exist"},
    {ZooFault::not_a_file, "mlsysim.zoo.002", "what is to be read is a directory or a device"},
    {ZooFault::unreadable, "mlsysim.zoo.003", "a file may not be read"},
    {ZooFault::too_large, "mlsysim.zoo.004", "a file is larger than 16 MiB"},
    {ZooFault::binary, "mlsysim.zoo.005", "a file is not UTF-8 text"},
    {ZooFault::empty_file, "mlsysim.zoo.006", "a file has no content"},
    {ZooFault::syntax, "mlsysim.zoo.007", "a file is not YAML"},
    {ZooFault::several_documents, "mlsysim.zoo.008", "a file holds several YAML documents"},
    {ZooFault::no_anchors, "mlsysim.zoo.009", "a file uses anchors, aliases or tags"},
    {ZooFault::duplicate_key, "mlsysim.zoo.010", "a key is given twice in one map"},
    {ZooFault::foreign_boolean, "mlsysim.zoo.011", "a word that some YAML readers take for a boolean"},
    {ZooFault::too_deep, "mlsysim.zoo.012", "collections are nested deeper than 64"},
    {ZooFault::bad_key, "mlsysim.zoo.013", "a key is not a plain text"},
    {ZooFault::no_schema, "mlsysim.zoo.020", "the schema line is missing or malformed"},
    {ZooFault::unknown_kind, "mlsysim.zoo.021", "the schema line names an unknown kind"},
    {ZooFault::newer_version, "mlsysim.zoo.022", "the file is written for a newer version of the schema",
     BreakReason::version_mismatch},
    {ZooFault::older_version, "mlsysim.zoo.023", "the file is written for an older version of the schema",
     BreakReason::version_mismatch},
    {ZooFault::wrong_shape, "mlsysim.zoo.024", "a map, a list or a scalar stands where another is due"},
    {ZooFault::unknown_key, "mlsysim.zoo.030", "a key that the schema does not know"},
    {ZooFault::missing_key, "mlsysim.zoo.031", "a required key is missing", BreakReason::missing_field},
    {ZooFault::missing_unit, "mlsysim.zoo.032", "a bare number stands where a unit is due"},
    {ZooFault::bad_quantity, "mlsysim.zoo.033", "a quantity cannot be read or has another dimension"},
    {ZooFault::not_a_number, "mlsysim.zoo.034", "a text stands where a number is due"},
    {ZooFault::out_of_range, "mlsysim.zoo.035", "a number is outside the range of its field"},
    {ZooFault::unknown_choice, "mlsysim.zoo.036", "a word that is none of the choices"},
    {ZooFault::not_a_flag, "mlsysim.zoo.037", "something else than true or false"},
    {ZooFault::not_a_text, "mlsysim.zoo.038", "a text is missing or empty"},
    {ZooFault::unknown_entry, "mlsysim.zoo.039", "an entry refers to another one that is not there"},
    {ZooFault::missing_source, "mlsysim.zoo.040", "a figure has no source"},
    {ZooFault::bad_date, "mlsysim.zoo.041", "a source has no date, or one that does not exist"},
    {ZooFault::unknown_reference, "mlsysim.zoo.042", "a source cites an unknown reference, or none"},
    {ZooFault::no_range, "mlsysim.zoo.043", "an estimate has no range"},
    {ZooFault::no_formula, "mlsysim.zoo.044", "a derived figure has no formula"},
    {ZooFault::bad_range, "mlsysim.zoo.045", "a range is malformed or does not hold its value"},
    {ZooFault::name_taken, "mlsysim.zoo.046", "a name or alias is taken"},
    {ZooFault::no_zoo, "mlsysim.zoo.050", "the folder of the zoo is not found"},
    {ZooFault::alias_unit, "mlsysim.zoo.060", "lint: a unit is not in its canonical spelling"},
    {ZooFault::not_verified, "mlsysim.zoo.061", "lint: the source of an entry was not read again"},
    {ZooFault::no_own_source, "mlsysim.zoo.062", "lint: an entry of the user gives no source"},
    {ZooFault::borrowed, "mlsysim.zoo.063", "lint: a figure measured on one device is stated of another"},
    {ZooFault::bad_cache, "mlsysim.zoo.070", "the cache of the zoo cannot be written"},
    {ZooFault::contradiction, "mlsysim.zoo.047", "figures of an entry contradict each other"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kFaults.size(); ++i)
    if (static_cast<std::size_t>(kFaults[i].fault) != i || kFaults[i].id.empty()) return false;
  return true;
}
static_assert(in_order(), "the table of faults does not follow the enumeration");

}  // namespace

std::span<const ZooFaultText> zoo_faults() { return kFaults; }

std::string_view id_of(ZooFault fault) { return kFaults[static_cast<std::size_t>(fault)].id; }

std::optional<BreakReason> reason_of(ZooFault fault) {
  return kFaults[static_cast<std::size_t>(fault)].reason;
}

}  // namespace mlsysim::detail
