#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/timing/detail/diffusion.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/pass_cost.hpp>

namespace mlsysim {

DiffusionPipeline::DiffusionPipeline(const DiffusionNetwork& network, const DiffusionTask& task,
                                     const HardwareNode& hardware, const ServingEngine* runtime,
                                     Precision precision, const Conventions& conventions, Notes& notes) {
  for (auto& stage : stages) {
    stage = std::make_unique<DiffusionStage>();
    set_storage(stage->plan, inference_storage(precision, std::nullopt));
  }
  list_text_encoder(network, task, *stages[0]);
  list_denoiser(network, task, *stages[1]);
  list_decoder(network, task, *stages[2]);
  const Conventions c = with_kernels(conventions, runtime);
  device = device_view(hardware, precision, c, notes, Phase::inference, execution_of(std::nullopt, runtime));
  ModelView<> model;
  model.structure = stages[1]->structure;
  set_software(device, runtime, hardware, precision, model, c, notes);
  set_products(device, runtime, hardware, precision, c, notes);
  links = links_view(hardware, task.devices, c, notes, Phase::inference);
}

PassBreakdown<> DiffusionPipeline::cost(const DiffusionStage& stage) const {
  const auto price_with = [&](const LaunchFrame<double>* frame) {
    const auto list = price_list<double>(stage.ops.span(), device, links, device.kernels.issue, frame);
    PassBreakdown<> sum;
    for (const auto& place : list.at[static_cast<std::size_t>(Pass::forward)]) sum.add(place, 1.0);
    return sum;
  };
  if (device.software == nullptr) return price_with(nullptr);
  const LaunchFrame<double> frame(*device.software, stage.structure, stage.stack.hidden, stage.plan, device,
                                  stage.ops.span());
  return price_with(&frame);
}

}  // namespace mlsysim
