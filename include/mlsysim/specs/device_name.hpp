#pragma once
/// Finds devices and nodes by the names that people, drivers and clouds give them.
///
/// Makers, product lines, kinds of memory, case and punctuation do not count. A memory size and a form (SXM,
/// PCIe, NVL) choose among the entries of one chip. Without a form, the entry named for the chip alone is
/// meant.
/// Example: `devices_called(zoo, "NVIDIA A100-SXM4-80GB")` is A100, "Tesla V100-SXM2-16GB" is V100_16GB, and
/// `counted_machine("2x8xH100")` is 16 of H100.

#include <mlsysim/specs/zoo.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The devices that a name may mean. An ambiguous name gives several, an unknown name none.
[[nodiscard]] std::vector<const HardwareNode*> devices_called(const Zoo& zoo, std::string_view text);
/// The chips of a slice of TPUs as clouds name it: 8 for "v5litepod-8". The number in "v4-8" counts cores, so
/// it has 4 chips. 1 for other names.
[[nodiscard]] double chips_of_slice(std::string_view text);
/// The nodes whose name or alias has these letters and digits, with or without the name of its cloud:
/// "p4d.24xlarge" is AWS_p4d_24xlarge.
[[nodiscard]] std::vector<const Node*> nodes_called(const Zoo& zoo, std::string_view text);

/// Several of one machine in a word, as people write it.
struct CountedMachine {
  double count = 1;
  std::string_view name;
};
/// Splits "8xH100", "8 x H100", "H100x8", "8*H100", "H100:8", "2x8xH100", "dual H100", "8 H100" and
/// "H100 (x8)" into count and name. Absent where a text is not a count and a name.
[[nodiscard]] std::optional<CountedMachine> counted_machine(std::string_view text);
/// Splits a text only if the name is a machine and the whole text is not: "8xH100", but not "gtx1080".
[[nodiscard]] std::optional<CountedMachine> counted_machine(const Zoo& zoo, std::string_view text);

/// A slice of a device, and the rule that derives its numbers from those of the device.
struct DeviceSlice {
  HardwareNode device;
  double units_share = 1;  ///< of the units of the whole
  std::string rule;        ///< in words, for the notes of an answer
};
/// A slice of a device that its partition profiles name: "A100 2g.20gb" has two eighths of the memory and its
/// bandwidth, 28 of 108 units with their rates, and as large a share of power, price and carbon as of the
/// units. Absent where the text names no profile. @throws LookupError where no device, or several, have it
[[nodiscard]] std::optional<DeviceSlice> slice_called(const Zoo& zoo, std::string_view text);

}  // namespace mlsysim
