// The tables of what a Zoo holds, and of the layers of a model.

#include <mlsysim/reflect/member.hpp>
#include <mlsysim/specs/zoo.hpp>

namespace mlsysim {

template const TableInfo& field_table<Stack>();
template const TableInfo& field_table<DeviceClass>();
template const TableInfo& field_table<HardwareNode>();
template const TableInfo& field_table<Workload>();
template const TableInfo& field_table<Node>();
template const TableInfo& field_table<NetworkFabric>();
template const TableInfo& field_table<Fleet>();
template const TableInfo& field_table<Pod>();
template const TableInfo& field_table<Rack>();
template const TableInfo& field_table<StorageTier>();
template const TableInfo& field_table<GridProfile>();
template const TableInfo& field_table<CoolingProfile>();
template const TableInfo& field_table<Datacenter>();
template const TableInfo& field_table<KernelFamily>();
template const TableInfo& field_table<ServingEngine>();
template const TableInfo& field_table<ScalarFigure>();

}  // namespace mlsysim
