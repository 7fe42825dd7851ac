/// Machine-learning models.

#include "spec_table.hpp"

#include <mlsysim/specs/workload.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim::python {

namespace {

py::object as_count(const std::optional<double>& x) {
  if (!x) return py::none();
  return *x == std::floor(*x) ? py::object(py::int_(static_cast<long long>(*x))) : py::object(py::float_(*x));
}
template <auto size> py::object count_of(const Workload& w) { return as_count((w.*size)()); }

/// Keywords for the sizes of a plain decoder or encoder, and where they belong in its one stack.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kPlainSizes{
    {{"hidden_dim", "hidden"},
     {"heads", "mixer.grouped.heads"},
     {"kv_heads", "mixer.grouped.kv_heads"},
     {"head_dim", "mixer.grouped.head_dim"},
     {"ffn", "feed_forward.dense.width"},
     {"gated_ffn", "feed_forward.dense.gated"},
     {"vocab", "input.vocab"}}};

/// Names of version 1 and what takes their place.
constexpr std::string_view kStacks =
    "stacks=[{'hidden': 4096, 'layers': [{'times': 32}], 'mixer': {'grouped': {'heads': 32}}, "
    "'feed_forward': {'dense': {'width': 14336}}, 'input': {'vocab': 128256}}]";

/// `layers=32, hidden_dim=4096, heads=32` beside the members: one stack of equal layers.
void assign_workload(const SpecType& type, void* spec, const py::dict& values, Building& building) {
  py::dict rest, stack;
  const auto put = [](py::dict into, std::string_view path, py::handle value) {
    for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
      const py::str name{std::string(path.substr(0, dot))};
      if (!into.contains(name)) into[name] = py::dict();
      into = py::dict(into[name]);
      path.remove_prefix(dot + 1);
    }
    into[py::str(std::string(path))] = value;
  };
  for (const auto& [key, value] : values) {
    const auto name = key.cast<std::string>();
    const auto* plain = std::find_if(kPlainSizes.begin(), kPlainSizes.end(),
                                     [&](const auto& size) { return size.first == name; });
    for (const std::string_view old :
         {"shape", "attention", "moe", "linear_attention", "state_space", "extra"})
      if (name == old)
        throw InputError(
            {.id = "mlsysim.python.231",
             .message =
                 fmt::format("{} has no '{}' any more: it lists stacks of layers", building.where, name),
             .key = name,
             .found = "'" + name + "'",
             .expected = std::string(kStacks),
             .hint = "for equal layers: layers=32, hidden_dim=4096, heads=32, ffn=14336, vocab=128256"});
    if (name == "layers") {
      py::dict run;
      run["times"] = value;
      py::list runs;
      runs.append(run);
      stack["layers"] = runs;
    } else if (plain != kPlainSizes.end()) {
      put(stack, plain->second, value);
    } else {
      rest[key] = value;
    }
  }
  if (!stack.empty()) {
    if (rest.contains("stacks"))
      throw InputError({.id = "mlsysim.python.232",
                        .message = "sizes are given twice",
                        .key = "stacks",
                        .found = "'stacks' beside sizes of a plain model",
                        .expected = "one of the two"});
    py::list stacks;
    stacks.append(stack);
    rest["stacks"] = stacks;
  }
  assign_keywords(type, spec, rest, building);
}

}  // namespace

void bind_workload(py::module_& m) {
  SpecClass<GroupedAttention>(m, "GroupedAttention", "Multi-head, grouped-query or multi-query attention.");
  SpecClass<LatentAttention>(m, "LatentAttention", "Multi-head latent attention (MLA).");
  SpecClass<LinearAttention>(m, "LinearAttention",
                             "Attention with a recurrent state per value head instead of a cache.");
  SpecClass<StateSpace>(m, "StateSpace", "State-space block.");
  SpecClass<Recurrent>(m, "Recurrent", "Recurrent block of another rule.");
  SpecClass<Mixer>(m, "Mixer", "What moves information between tokens.");
  SpecClass<Selection>(m, "Selection", "A light-weight index that chooses what attention reads.");
  SpecClass<Reach>(m, "Reach", "Which earlier tokens attention sees; nothing stated: all.");
  SpecClass<DenseFeedForward>(m, "DenseFeedForward", "Feed-forward layer of two matrices, or three.");
  SpecClass<Experts>(m, "Experts", "Mixture of experts.");
  SpecClass<FeedForward>(m, "FeedForward", "What works on each token by itself: dense, experts, or both.");
  SpecClass<Residual>(m, "Residual", "How the parts of a layer join the residual stream.");
  SpecClass<Layer>(m, "Layer", "A layer, or several alike in a row; what it does not state is its stack's.");
  SpecClass<LayerRun>(m, "LayerRun", "A pattern of layers, several times.");
  SpecClass<Lookup>(m, "Lookup", "Tables from which rows are read.");
  SpecClass<StackInput>(m, "StackInput", "What a stack reads.");
  SpecClass<StackOutput>(m, "StackOutput", "What a stack gives.");
  SpecClass<Stack>(m, "Stack", "Layers one after the other, with what comes before and after them.");
  SpecClass<StoredFormat>(m, "StoredFormat", "How a group of tensors is stored.");
  SpecClass<Outline>(m, "Outline", "Sizes of a model whose layers are not listed.");
  SpecClass<ActionShape>(m, "ActionShape", "What a robot policy gives in one pass.");
  SpecClass<DiffusionShape>(m, "DiffusionShape", "Iterated denoising.");
  SpecClass<RecommendationShape>(m, "RecommendationShape", "Embedding tables and the networks around them.");
  SpecClass<ConvLayer>(m, "ConvLayer", "One record of a convolutional network.");
  SpecClass<ListedOperator>(m, "ListedOperator", "One operator of a program.");
  SpecClass<InferenceTotals>(m, "InferenceTotals", "Published cost of one inference.");
  SpecClass<TrainingTotals>(m, "TrainingTotals", "Published facts of the training run.");
  SpecClass<Workload>(m, "Workload", "A machine-learning model.",
                      {{"inference_flops", "inference.work"},
                       {"denoising_steps", "diffusion.denoising_steps"},
                       {"training_tokens", "training.tokens"}})
      .assigned_by(&assign_workload)
      .property("layers", "layers of the main stack", count_of<&Workload::layers>)
      .property("hidden_dim", "width of its residual stream", count_of<&Workload::hidden>)
      .property("heads", "query heads of its first attention", count_of<&Workload::heads>)
      .property("kv_heads", "key-value heads of its first attention", count_of<&Workload::kv_heads>)
      .property("head_dim", "width of one of its heads", count_of<&Workload::head_dim>)
      .property("experts", "routed experts of a layer",
                [](const Workload& w) { return w.is_moe() ? as_count(w.experts()->count) : py::none(); })
      .property("active_experts_per_token", "experts that a token visits",
                [](const Workload& w) { return w.is_moe() ? as_count(w.experts()->top_k) : py::none(); })
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
