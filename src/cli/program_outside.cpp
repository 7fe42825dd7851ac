// Commands about what the library meets: plugins, agents, the programs that backends support, measurements.

#include "command_agents.hpp"
#include "program.hpp"

#include <algorithm>
#include <memory>

namespace mlsysim::cli {
namespace {

constexpr const char* kImportExamples =
    "Examples:\n  mlsysim plugin import acme_reader/Ops net.acmeops > my_model.yaml\n"
    "  mlsysim plugin import Ops ./net.acmeops";

constexpr const char* kAgentExamples =
    "Examples:\n  mlsysim mcp --schemas\n  mlsysim mcp --allow ./plans\n  mlsysim mcp --http 8000\n"
    "It is a part of the Python package: MLSYSIM_PYTHON names its interpreter (default: python3).";

}  // namespace

void Program::plugin_commands() {
  auto* p = command(app_, "plugin", "plugins: what is found, what they can do, how to write one",
                    "Examples:\n  mlsysim plugin list\n  mlsysim plugin list -o json", nullptr);
  command(*p, "list", "every plugin that is found, without opening those that have a manifest",
          "Examples:\n  mlsysim plugin list\n  mlsysim plugin list -o json",
          [this] { return plugin_list(render_); });
  const auto one = [this](CLI::App& app) {
    demand(app, "NAME", first_, "name of a plugin, or the path of its library or manifest");
  };
  one(*command(
      *p, "show", "what a plugin is and registers, and where each option comes from",
      "Examples:\n  mlsysim plugin show acme-efficiency\n  mlsysim plugin show acme-efficiency -o json",
      [this] { return plugin_show(first_, render_); }));
  one(*command(
      *p, "caps", "capabilities of a plugin, the same bytes every time",
      "Examples:\n  mlsysim plugin caps acme-efficiency -o json\n  mlsysim plugin caps acme-efficiency",
      [this] { return plugin_caps(first_, render_); }));
  one(*command(
      *p, "reload", "loads a plugin, and then its file again from a copy",
      "Examples:\n  mlsysim plugin reload ./mlsysim-plugin-acme.so\n  mlsysim plugin reload acme-efficiency",
      [this] { return plugin_reload(first_, render_); }));
  auto* check =
      command(*p, "check", "runs the conformance kit on a plugin",
              "Examples:\n  mlsysim plugin check ./mlsysim-plugin-acme.so\n  mlsysim plugin check "
              "./mlsysim-plugin-acme.so --list",
              [this] {
                // All words that follow are those of the kit, options too.
                return plugin_check({std::find(words_.begin(), words_.end(), "check") + 1, words_.end()});
              });
  check->allow_extras()->fallthrough(false);
  demand(*check, "WORDS", paths_, "path of the plugin, and options of mlsysim-plugin-check");
  auto* fresh = command(
      *p, "new", "writes a plugin that builds and passes the kit, to begin with",
      "Examples:\n  mlsysim plugin new my_power --lang cpp\n  mlsysim plugin new my_law --lang python",
      [this] { return plugin_new(first_, form_, second_); });
  demand(*fresh, "NAME", first_, "name of the plugin: letters, digits, '_' and '-'");
  auto* language = offer(*fresh, "--lang", form_, "c, cpp or python", "NAME")
                       ->check(CLI::IsMember({"c", "cpp", "python"}))
                       ->required();
  values_[language].choices = {"c", "cpp", "python"};
  auto* reader = command(*p, "import", "what an importer makes of a file, as a zoo file", kImportExamples,
                         [this] { return plugin_import(first_, second_); });
  demand(*reader, "IMPORTER", first_, "name of an importer");
  demand(*reader, "FILE", second_, "the file to read");
  auto* writer = command(*p, "export", "an entry of the zoo in the format of an exporter",
                         "Examples:\n  mlsysim plugin export acme_reader/FiguresCsv H100\n  mlsysim plugin "
                         "export acme_reader/FiguresCsv A100",
                         [this] { return plugin_export(first_, second_); });
  demand(*writer, "EXPORTER", first_, "name of an exporter");
  demand(*writer, "ENTRY", second_, "a device, model, node, fleet, grid or datacenter");
  offer(*fresh, "--folder", second_, "where to (default: a folder of the plugin's name)", "PATH");
  support_command();
}

void Program::support_command() {
  struct Served {
    std::vector<std::string> folders;
    std::string address;
    bool schemas = false;
  };
  const auto served = std::make_shared<Served>();
  auto* mcp = command(app_, "mcp", "a server of the Model Context Protocol, for agents", kAgentExamples,
                      [served]() -> Answer {
                        std::vector<std::string> words;
                        for (const auto& folder : served->folders)
                          words.insert(words.end(), {"--allow", folder});
                        if (!served->address.empty()) words.insert(words.end(), {"--http", served->address});
                        if (served->schemas) words.emplace_back("--schemas");
                        become_server(std::move(words));
                      });
  offer(*mcp, "--allow", served->folders, "a folder whose files may be read; may be repeated", "FOLDER");
  offer(*mcp, "--http", served->address,
        "streamable HTTP at /mcp in place of standard input and output; HOST is 127.0.0.1", "[HOST:]PORT");
  mcp->add_flag("--schemas", served->schemas, "the tools with their schemas as JSON, and the end");
  auto* s = command(
      app_, "support", "does a backend run a model: yes, no or maybe, with every reason",
      "Examples:\n  mlsysim support --program Llama3_8B --hardware Acme_NPU1 --effort 2\n"
      "  mlsysim support            every model of the zoo on every device of every backend\n"
      "  mlsysim support model.onnx step.mlir --hardware H100   programs, also by this library itself\n"
      "Exit codes of a single answer: 0 yes, 1 no, 4 maybe.",
      [this] { return support(support_, render_); });
  offer(*s, "PROGRAM", support_.files, "files of programs (default: models of the zoo)", "");
  values_[offer(*s, "--program", support_.program, "a model of the zoo (default: all)", "NAME")].place =
      Place::model;
  values_[offer(*s, "--hardware", support_.hardware, "a device of a backend (default: all)", "NAME")].place =
      Place::device;
  offer(*s, "--backend", support_.backend, "a backend (default: all)", "NAME");
  offer(*s, "--effort", support_.effort,
        "0 names, 1 attributes, 2 types and shapes, 3 context, 4 trial rewrite", "N")
      ->check(CLI::Range(0, 4));
  s->add_flag("--aggressive", support_.aggressive, "an operator that could be dropped counts as fine");
}

void Program::validation_commands() {
  auto* v =
      command(app_, "validate", "predictions against published measurements, table by table",
              "Examples:\n  mlsysim validate\n  mlsysim validate training/megatron_recompute_table5_a100\n"
              "  mlsysim validate kernels --html kernels.html\n  mlsysim validate --check\n"
              "  mlsysim validate kernels/azure_hbm_a100_h100 --zoo a100.yaml --with A100=A100_calibrated",
              [this] { return validate_tables(validate_, render_); }, {Place::none});
  offer(*v, "TABLE", validate_.tables, "names of tables, or topics (training, kernels, ...); all by default",
        "");
  v->add_flag("--list", validate_.list, "the tables with their targets and sources");
  v->add_flag("--check", validate_.check,
              "fails with 3 when a table got worse than the committed record allows");
  v->add_flag("--write-record", validate_.write_record, "replaces the record by the present figures");
  offer(*v, "--record", validate_.record, "the record (default: record.yaml beside the tables)", "FILE");
  offer(*v, "--tables", validate_.folder,
        "a folder with tables of your own, or with the whole tables of which samples ship (default: those "
        "of the zoo; environment MLSYSIM_TABLES)",
        "FOLDER");
  offer(*v, "--with", validate_.with,
        "another device or engine of the zoo in place of one that rows name, e.g. "
        "A100=A100_calibrated; may be repeated",
        "NAME=OTHER");
  offer(*v, "--worst", validate_.worst, "rows shown with the terms of their prediction, the worst first", "N")
      ->capture_default_str();
  offer(*v, "--page", validate_.page,
        "also writes docs/reference/accuracy.md: errors by topic, cross-validation", "FILE");
  offer(*v, "--tables-page", validate_.tables_page,
        "also writes a Markdown page with every table, the fitted constants and cross-validation", "FILE");
  offer(*v, "--write-residuals", validate_.residuals,
        "also writes what the predictions missed, by groups: the data of --interval", "FILE");
  v->add_flag("--force", validate_.force, "replace files that this program did not write");
  offer(*v, "--html", validate_.html, "also writes a page with plots of predicted against measured", "FILE");
}

void Program::calibration_commands() {
  auto* c = command(
      app_, "calibrate",
      "fits the constants of a device or serving engine to measurements, with their uncertainty",
      "Examples:\n  mlsysim calibrate --device H100 --table kernels/aiconfigurator_gemm_bf16_h100\n"
      "  mlsysim calibrate --device A100 --table mine.yaml --constant efficiency.memory --write a100.yaml\n"
      "  mlsysim calibrate --engine vllm --table inference/hopper_dense_tpot --table "
      "inference/hopper_dense_ttft\n"
      "Constants that the data do not identify keep their value; whole groups are left out to check the "
      "rest.",
      [this] { return calibrate_constants(calibrate_, render_); });
  auto* device = offer(*c, "--device", calibrate_.device, "device whose constants are fitted", "NAME");
  auto* engine =
      offer(*c, "--engine", calibrate_.engine, "serving engine whose host times are fitted", "NAME");
  device->excludes(engine);
  values_[device].place = Place::device;
  values_[engine].place = Place::engine;
  offer(*c, "--table", calibrate_.tables, "name of a table, or file of a definition; may be repeated",
        "TABLE")
      ->required();
  offer(*c, "--constant", calibrate_.constants,
        "field to fit; may be repeated (default: all that matter to a row)", "FIELD");
  c->add_flag("--force", calibrate_.force, "replace a file that this program did not write");
  offer(*c, "--write", calibrate_.write,
        "writes the device or engine with its fitted constants as a file for --zoo", "FILE");
  offer(*c, "--date", calibrate_.date, "date of the fit in that file (default: today)", "DATE");
}

}  // namespace mlsysim::cli
