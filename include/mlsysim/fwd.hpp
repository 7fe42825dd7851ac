#pragma once
/// Forward declarations of the types that users name in their own headers.
///
/// Example: after this include a header can declare `void plot(const mlsysim::Workload&);`.

#include <cstdint>

namespace mlsysim {

struct HardwareNode;
struct Workload;
struct Node;
struct NetworkFabric;
struct Fleet;
struct GridProfile;
struct Datacenter;
struct KernelFamily;
struct ServingEngine;
struct Conventions;
class Zoo;

enum class Precision : std::uint8_t;
enum class WeightFormat : std::uint8_t;
enum class Fidelity : std::uint8_t;
enum class Bottleneck : std::uint8_t;
enum class OptimizerKind : std::uint8_t;
enum class Recomputation : std::uint8_t;

}  // namespace mlsysim
