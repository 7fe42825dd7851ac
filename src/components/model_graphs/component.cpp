// The component joins the kernel: whoever links it wants the symbol below, and reading starts with it.

#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/zoo/detail/model_reader.hpp>

namespace mlsysim {
namespace {

const bool registered = [] {
  set_model_reader(
      {.names_model = names_model,
       .names_program = [](std::string_view word) { return is_program_file(word) || has_other_reader(word); },
       .read =
           [](const std::string& path, std::vector<std::string>& notes) {
             auto model = model_of_path(path);
             notes = model.notes;
             return model_zoo(model);
           }});
  return true;
}();

}  // namespace
}  // namespace mlsysim

extern "C" int mlsysim_models_component();
extern "C" int mlsysim_models_component() { return mlsysim::registered ? 1 : 0; }
