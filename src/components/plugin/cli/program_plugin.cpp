// Commands about plugins, and about the programs that backends support.

#include "cli/program.hpp"

#include "commands_plugin.hpp"

#include <algorithm>
#include <memory>

namespace mlsysim::cli {
namespace {

constexpr const char* kImportExamples =
    "Examples:\n  mlsysim plugin import acme_reader/Ops net.acmeops > my_model.yaml\n"
    "  mlsysim plugin import Ops ./net.acmeops";

}  // namespace

void Program::plugin_commands() {
  auto* p = command(app_, "plugin", "Find, check and write plugins",
                    "Examples:\n  mlsysim plugin list\n  mlsysim plugin list -o json", nullptr);
  command(*p, "list", "List every plugin that is found, without opening those with a manifest",
          "Examples:\n  mlsysim plugin list\n  mlsysim plugin list -o json",
          [this] { return plugin_list(render_); });
  const auto one = [this](CLI::App& app) {
    demand(app, "NAME", first_, "name of a plugin, or the path of its library or manifest");
  };
  one(*command(
      *p, "show", "Show what a plugin is and registers, and where its options come from",
      "Examples:\n  mlsysim plugin show acme-efficiency\n  mlsysim plugin show acme-efficiency -o json",
      [this] { return plugin_show(first_, render_); }));
  one(*command(
      *p, "caps", "Print the capabilities of a plugin, the same bytes every time",
      "Examples:\n  mlsysim plugin caps acme-efficiency -o json\n  mlsysim plugin caps acme-efficiency",
      [this] { return plugin_caps(first_, render_); }));
  one(*command(
      *p, "reload", "Load a plugin, and then its file again from a copy",
      "Examples:\n  mlsysim plugin reload ./mlsysim-plugin-acme.so\n  mlsysim plugin reload acme-efficiency",
      [this] { return plugin_reload(first_, render_); }));
  auto* check =
      command(*p, "check", "Run the conformance kit on a plugin",
              "Examples:\n  mlsysim plugin check ./mlsysim-plugin-acme.so\n  mlsysim plugin check "
              "./mlsysim-plugin-acme.so --list",
              [this] {
                // All words that follow are those of the kit, options too.
                return plugin_check({std::find(words_.begin(), words_.end(), "check") + 1, words_.end()});
              });
  check->allow_extras()->fallthrough(false);
  demand(*check, "WORDS", paths_, "path of the plugin, and options of mlsysim-plugin-check");
  auto* fresh = command(
      *p, "new", "Write a plugin that builds and passes the kit, to start from",
      "Examples:\n  mlsysim plugin new my_power --lang cpp\n  mlsysim plugin new my_law --lang python",
      [this] { return plugin_new(first_, form_, second_); });
  demand(*fresh, "NAME", first_, "name of the plugin: letters, digits, '_' and '-'");
  auto* language = offer(*fresh, "--lang", form_, "c, cpp or python", "NAME")
                       ->check(CLI::IsMember({"c", "cpp", "python"}))
                       ->required();
  values_[language].choices = {"c", "cpp", "python"};
  auto* reader = command(*p, "import", "Read a file with an importer and print a zoo file", kImportExamples,
                         [this] { return plugin_import(first_, second_); });
  demand(*reader, "IMPORTER", first_, "name of an importer");
  demand(*reader, "FILE", second_, "the file to read");
  auto* writer = command(*p, "export", "Write an entry of the zoo in the format of an exporter",
                         "Examples:\n  mlsysim plugin export acme_reader/FiguresCsv H100\n  mlsysim plugin "
                         "export acme_reader/FiguresCsv A100",
                         [this] { return plugin_export(first_, second_); });
  demand(*writer, "EXPORTER", first_, "name of an exporter");
  demand(*writer, "ENTRY", second_, "a device, model, node, fleet, grid or datacenter");
  offer(*fresh, "--folder", second_, "where to (default: a folder of the plugin's name)", "PATH");
  support_command();
}

void Program::support_command() {
  const auto asked = std::make_shared<SupportRequest>();
  auto* s = command(
      app_, "support", "Say whether a backend runs a model: yes, no or maybe, with reasons",
      "Examples:\n  mlsysim support --program Llama3_8B --hardware Acme_NPU1 --effort 2\n"
      "  mlsysim support            every model of the zoo on every device of every backend\n"
      "  mlsysim support model.onnx step.mlir --hardware H100   programs, also by this library itself\n"
      "Exit codes of a single answer: 0 yes, 1 no, 4 maybe.",
      [this, asked] { return support(*asked, render_); });
  offer(*s, "PROGRAM", asked->files, "files of programs (default: models of the zoo)", "");
  values_[offer(*s, "--program", asked->program, "a model of the zoo (default: all)", "NAME")].place =
      Place::model;
  values_[offer(*s, "--hardware", asked->hardware, "a device of a backend (default: all)", "NAME")].place =
      Place::device;
  offer(*s, "--backend", asked->backend, "a backend (default: all)", "NAME");
  offer(*s, "--effort", asked->effort,
        "0 names, 1 attributes, 2 types and shapes, 3 context, 4 trial rewrite", "N")
      ->check(CLI::Range(0, 4));
  s->add_flag("--aggressive", asked->aggressive, "an operator that could be dropped counts as fine");
}

}  // namespace mlsysim::cli
