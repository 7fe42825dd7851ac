/// Machine-learning models.

#include "spec_table.hpp"

#include <mlsysim/spec/workload.hpp>

namespace mlsysim::python {

void bind_workload(py::module_& m) {
  SpecClass<TransformerShape>(m, "TransformerShape", "Sizes of a transformer.", {{"hidden_dim", "hidden"}});
  SpecClass<AttentionShape>(m, "AttentionShape", "How attention keeps keys and values.");
  SpecClass<MoeShape>(m, "MoeShape", "Mixture of experts.");
  SpecClass<LinearAttentionShape>(m, "LinearAttentionShape",
                                  "Layers with a recurrent state instead of a KV cache.");
  SpecClass<StateSpaceShape>(m, "StateSpaceShape", "State-space blocks.");
  SpecClass<DiffusionShape>(m, "DiffusionShape", "Iterated denoising.");
  SpecClass<RecommendationShape>(m, "RecommendationShape", "Embedding tables and the networks around them.");
  SpecClass<ConvLayer>(m, "ConvLayer", "One record of a convolutional network.");
  SpecClass<InferenceTotals>(m, "InferenceTotals", "Published cost of one inference.");
  SpecClass<TrainingTotals>(m, "TrainingTotals", "Published facts of the training run.");
  SpecClass<Workload>(m, "Workload", "A machine-learning model.",
                      {{"layers", "shape.layers"},
                       {"hidden_dim", "shape.hidden"},
                       {"heads", "shape.heads"},
                       {"kv_heads", "shape.kv_heads"},
                       {"experts", "moe.experts"},
                       {"active_experts_per_token", "moe.top_k"},
                       {"inference_flops", "inference.work"},
                       {"kv_lora_rank", "attention.kv_lora_rank"},
                       {"qk_rope_head_dim", "attention.rope_head_dim"},
                       {"state_size", "state_space.state_size"},
                       {"denoising_steps", "diffusion.denoising_steps"},
                       {"training_tokens", "training.tokens"}})
      .property("has_shape", "whether the operator list can be made from the shape",
                [](const Workload& w) { return w.has_shape(); })
      .def(
          "size_in_bytes",
          [](const Workload& w, const py::object& precision) {
            if (const auto* width = quantity_in(precision)) {
              if (w.model_size || !w.parameters) return to_python(AnyQuantity(w.size()), "GB");
              const bool per_param = width->exponents() == dim::data_per_param::exps;
              const double bytes = per_param ? width->base() : width->as<dim::data>().base();
              return to_python(AnyQuantity::from_base(w.parameters->base() * bytes, dim::data::exps), "GB");
            }
            return to_python(AnyQuantity(w.size(read_precision(precision, w.name))), "GB");
          },
          py::arg("precision") = "fp16",
          "Bytes of all weights [GB]: the published size, or parameters times the width of a precision (by "
          "name, or as "
          "a quantity such as 2 B).");
}

}  // namespace mlsysim::python
