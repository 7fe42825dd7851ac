/// Systems and infrastructure: nodes, fabrics, fleets, grids, facilities, prices, defaults.

#include "spec_table.hpp"

#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/infrastructure.hpp>
#include <mlsysim/specs/scalar_figure.hpp>
#include <mlsysim/specs/system_extra.hpp>

namespace mlsysim::python {

void bind_system(py::module_& m) {
  SpecClass<LinkLevel>(m, "LinkLevel", "One level of a machine: it joins groups of the level below.");
  SpecClass<Node>(m, "Node", "A host with its accelerators.", {{"intra_node_bw", "intra_node_bandwidth"}});
  SpecClass<NetworkFabric>(m, "NetworkFabric", "The network between nodes.",
                           {{"oversubscription_ratio", "oversubscription"}});
  SpecClass<CoolingProfile>(m, "CoolingProfile", "A way of cooling.");
  SpecClass<GridProfile>(m, "GridProfile", "Electricity of a region.",
                         {{"lat", "latitude"}, {"lon", "longitude"}})
      .property("carbon_intensity_g_kwh", "carbon intensity as a number [gCO2e/kWh]",
                [](const GridProfile& g) { return AnyQuantity(g.carbon_intensity).in("gCO2e/kWh"); })
      .property("carbon_intensity_kg_kwh", "carbon intensity as a number [kgCO2e/kWh]",
                [](const GridProfile& g) { return AnyQuantity(g.carbon_intensity).in("kgCO2e/kWh"); });
  SpecClass<Datacenter>(m, "Datacenter", "A facility on a grid.");
  SpecClass<Fleet>(m, "Fleet", "Equal nodes joined by a fabric.",
                   {{"count", "node_count"}, {"region", "grid"}})
      .property("total_accelerators", "accelerators of all nodes",
                [](const Fleet& f) { return py::int_(py::float_(f.total_accelerators())); })
      .property("effective_pue", "PUE of the facility; None without one", [](const Fleet& f) -> py::object {
        if (f.datacenter == nullptr) return py::none();
        return py::float_(f.datacenter->pue);
      });
  SpecClass<Pod>(m, "Pod", "Accelerators that one interconnect joins without a node between them.");
  SpecClass<Rack>(m, "Rack", "A rack: what it may draw, or which nodes it holds.");
  SpecClass<StorageTier>(m, "StorageTier", "A class of storage.");
  SpecClass<MemoryStep>(m, "MemoryStep", "What an engine chooses on devices of some memory.");
  SpecClass<MemoryKept>(m, "MemoryKept", "What an engine keeps by a table.");
  SpecClass<EngineMemoryRule>(m, "EngineMemoryRule", "How an engine divides the memory of a device.");
  SpecClass<KernelRate>(m, "KernelRate", "Kernels of one kind: the smallest one, and what large ones reach.");
  SpecClass<ConvolutionRates>(m, "ConvolutionRates", "Convolutions as implicit products.");
  SpecClass<ProductRates>(m, "ProductRates", "Dense products on one generation of chips.");
  SpecClass<ExpertRates>(m, "ExpertRates", "Routed experts of one layer on one generation of chips.");
  SpecClass<TunedShapes>(m, "TunedShapes", "Shapes of routed experts with tuned tiles.");
  SpecClass<ChainLaunch>(m, "ChainLaunch", "One launch of a chain of linear attention.");
  SpecClass<RecurrenceRates>(m, "RecurrenceRates", "Constants of such a chain on one generation of chips.");
  SpecClass<RecurrenceChain>(m, "RecurrenceChain", "Kernels of linear attention of one rule.");
  SpecClass<GenerationConstants>(m, "GenerationConstants", "Constants of kernels on a generation of chips.");
  SpecClass<KernelFamily>(m, "KernelFamily", "Kernels of a framework or an engine.");
  SpecClass<LaunchPart>(m, "LaunchPart", "One row of a launch list.");
  SpecClass<ExpertChoice>(m, "ExpertChoice", "The kernels that compute routed experts, and where.");
  SpecClass<FrameworkHost>(m, "FrameworkHost", "Host time of a framework.");
  SpecClass<CompilerHost>(m, "CompilerHost", "Host time of a compiler.");
  SpecClass<ServingEngine>(m, "ServingEngine",
                           "Software that serves models: how it schedules, and what its host side costs.");
  SpecClass<ScalarFigure>(m, "ScalarFigure",
                          "A named figure: a price, a convention, a lead time, a failure rate.",
                          {{"rate", "value"}});
  SpecClass<Conventions>(m, "Conventions", "The defaults that fill gaps; their home is zoo/defaults.yaml.");
}

}  // namespace mlsysim::python
