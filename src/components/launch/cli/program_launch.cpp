// Commands for launches of engines: import and fit. The other way is export --to.

#include "cli/program.hpp"

#include <mlsysim/launch/launch.hpp>

namespace mlsysim::cli {

void Program::launch_commands() {
  const auto options = [this](CLI::App& app) {
    auto* format =
        offer(app, "--format", launch_.format, "whose launch it is, where its words do not say so", "ENGINE");
    values_[format].choices.assign(Choices<LaunchFormat>::names.begin(), Choices<LaunchFormat>::names.end());
    const auto field = [this, &app](const char* option, const char* name, const char* about) {
      return app.add_option_function<std::string>(
          option, [this, name](const std::string& text) { scenario_.fields[name] = text; }, about);
    };
    values_[field("--model", "workload", "the model, in place of the launch's")->type_name("NAME")].place =
        Place::model;
    values_[field("--hardware", "hardware", "what it runs on")->type_name("NAME")].place = Place::machine;
    scenario_options(app, std::nullopt);
  };
  auto* i =
      command(app_, "import", "Read an engine's launch as a plan, or a model file as a zoo entry",
              "Examples:\n  mlsysim import 'vllm serve Qwen/Qwen3-32B -tp 4 --max-model-len 32k' --hardware "
              "H100 > plan.yaml\n"
              "  mlsysim import ds_config.json --model Llama3_8B --hardware H100 --accelerators 64\n"
              "  mlsysim import serve.sh --hardware H100 -o markdown          what became of each flag\n"
              "  mlsysim import config.json > my_model.yaml\n  mlsysim import ./Qwen3-8B\n"
              "  mlsysim import model.onnx --dim batch=8\n"
              "Nothing of a launch is run. docs/how-to/launch-files.md lists the formats. Every command that "
              "takes a model takes\n"
              "the path of one too: mlsysim eval ./config.json H100, and sizes in it: mlsysim eval "
              "'model.onnx?batch=8' H100",
              [this] {
                if (launch_.format.empty() && !is_launch(launch_.from)) {
                  program_.path = launch_.from;
                  return model_import(program_);
                }
                return launch_import(scenario_, launch_, render_);
              });
  demand(*i, "LAUNCH", launch_.from, "a command line in quotes, or a file; or the file or folder of a model");
  options(*i);
  program_options(*i);
  auto* f =
      command(app_, "fit", "Check whether a launch, a plan or a model fits into memory",
              "Examples:\n  mlsysim fit DeepSeek_V3 8xH200 --batch-size 32\n"
              "  mlsysim fit --from 'vllm serve Qwen/Qwen3-32B --max-model-len 32k' --hardware H100\n"
              "  mlsysim fit --from plan.yaml\n"
              "Exit codes: 0 it fits, 1 bad input, 2 it does not.",
              [this] { return launch_fit(scenario_, launch_, render_); }, {Place::model, Place::machine});
  offer(*f, "WORDS", scenario_.targets, "MODEL HARDWARE, or a launch or plan alone", "");
  offer(*f, "--from", launch_.from, "a command line in quotes, a file of an engine, or a plan", "LAUNCH");
  options(*f);
}

}  // namespace mlsysim::cli
