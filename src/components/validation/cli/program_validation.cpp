// Commands about measurements: predictions against them, and constants fitted to them.

#include "cli/program.hpp"

#include "commands_validation.hpp"

#include <memory>

namespace mlsysim::cli {

void Program::validation_commands() {
  const auto asked = std::make_shared<ValidateRequest>();
  auto* v =
      command(app_, "validate", "Compare predictions with published measurements, table by table",
              "Examples:\n  mlsysim validate\n  mlsysim validate training/megatron_recompute_table5_a100\n"
              "  mlsysim validate kernels --html kernels.html\n  mlsysim validate --check\n"
              "  mlsysim validate kernels/azure_hbm_a100_h100 --zoo a100.yaml --with A100=A100_calibrated",
              [this, asked] { return validate_tables(*asked, render_); }, {Place::none});
  offer(*v, "TABLE", asked->tables, "names of tables, or topics (training, kernels, ...); all by default",
        "");
  v->add_flag("--list", asked->list, "the tables with their targets and sources");
  v->add_flag("--check", asked->check,
              "fails with 3 when a table got worse than the committed record allows");
  v->add_flag("--write-record", asked->write_record, "replaces the record by the present figures");
  offer(*v, "--record", asked->record, "the record (default: record.yaml beside the tables)", "FILE");
  offer(*v, "--tables", asked->folder,
        "a folder with tables of your own, or with the whole tables of which samples ship (default: those "
        "of the zoo; environment MLSYSIM_TABLES)",
        "FOLDER");
  offer(*v, "--with", asked->with,
        "another device or engine of the zoo in place of one that rows name, e.g. "
        "A100=A100_calibrated; may be repeated",
        "NAME=OTHER");
  offer(*v, "--worst", asked->worst, "rows shown with the terms of their prediction, the worst first", "N")
      ->capture_default_str();
  offer(*v, "--page", asked->page,
        "also writes docs/reference/accuracy.md: errors by topic, cross-validation", "FILE");
  offer(*v, "--tables-page", asked->tables_page,
        "also writes a Markdown page with every table, the fitted constants and cross-validation", "FILE");
  offer(*v, "--write-residuals", asked->residuals,
        "also writes what the predictions missed, by groups, and beside it the factors of bands: the data of "
        "--interval",
        "FILE");
  offer(*v, "--league", asked->league,
        "also writes a Markdown page with this and other tools on the same rows", "FILE");
  offer(*v, "--write-rows", asked->rows, "also writes the rows as a CSV for the predictions of other tools",
        "FILE");
  offer(*v, "--predictions", asked->predictions,
        "predictions of another tool for --league, in the form of --write-rows; may be repeated",
        "NAME=FILE");
  v->add_flag("--force", asked->force, "replace files that this program did not write");
  offer(*v, "--html", asked->html, "also writes a page with plots of predicted against measured", "FILE");
}

void Program::calibration_commands() {
  const auto asked = std::make_shared<CalibrateRequest>();
  auto* c = command(
      app_, "calibrate", "Fit constants of a device or serving engine to measurements",
      "Examples:\n  mlsysim calibrate --device H100 --table kernels/aiconfigurator_gemm_bf16_h100\n"
      "  mlsysim calibrate --device A100 --table mine.yaml --constant efficiency.memory --write a100.yaml\n"
      "  mlsysim calibrate --engine vllm --table inference/hopper_dense_tpot --table "
      "inference/hopper_dense_ttft\n"
      "Constants that the data do not identify keep their value; whole groups are left out to check the "
      "rest. Exit code 3: the fit makes a table of whole systems worse, and is not written.",
      [this, asked] { return calibrate_constants(*asked, render_); });
  auto* device = offer(*c, "--device", asked->device, "device whose constants are fitted", "NAME");
  auto* engine = offer(*c, "--engine", asked->engine, "serving engine whose host times are fitted", "NAME");
  device->excludes(engine);
  values_[device].place = Place::device;
  values_[engine].place = Place::engine;
  offer(*c, "--table,--tables", asked->tables, "name of a table, or file of a definition; may be repeated",
        "TABLE")
      ->required();
  offer(*c, "--constant", asked->constants,
        "field to fit; may be repeated (default: all that matter to a row)", "FIELD");
  c->add_flag(
      "--force", asked->force,
      "replace a file that this program did not write, fit rows that disagree, and keep a fit that makes "
      "tables of whole systems worse");
  offer(*c, "--write", asked->write,
        "writes the device or engine with its fitted constants as a file for --zoo", "FILE");
  offer(*c, "--date", asked->date, "date of the fit in that file (default: today)", "DATE");
}

void Program::measure_command() {
  const auto asked = std::make_shared<MeasureRequest>();
  auto* m =
      command(app_, "measure", "Measure this machine with PyTorch, fit it and compare predictions",
              "Examples:\n  mlsysim measure --plan\n  mlsysim measure --out measured\n"
              "  mlsysim measure --out measured --deadline 45 --python ~/venv/bin/python\n"
              "  mlsysim measure --points points.json --hardware H200\n"
              "Measuring takes two minutes at most and downloads nothing. It needs a Python with PyTorch.",
              [this, asked] {
                asked->zoo = zoo_paths_;
                return measure_machine(*asked, render_);
              });
  auto* plan = m->add_flag("--plan", asked->plan, "list the points and why each is taken; measure nothing");
  offer(*m, "--points", asked->points,
        "points to measure instead of the plan: a file of mlsysim decide --points", "FILE")
      ->excludes(plan);
  offer(*m, "--out", asked->out, "folder for the tables and the device entry", "FOLDER")
      ->capture_default_str();
  offer(*m, "--deadline", asked->deadline, "seconds for all points; the least valuable are dropped first",
        "SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(5.0, 3600.0));
  offer(*m, "--python", asked->python,
        "interpreter with PyTorch (default: MLSYSIM_PYTHON, else the first python3 of PATH that has it)",
        "PYTHON");
  auto* on = offer(*m, "--on", asked->on,
                   "cpu, cuda or rocm (default: the accelerator, or the CPU where there is none)", "KIND")
                 ->check(CLI::IsMember({"cpu", "cuda", "rocm"}));
  values_[on].choices = {"cpu", "cuda", "rocm"};
  auto* hardware =
      offer(*m, "--hardware", asked->hardware,
            "name of the device in the zoo (default: recognized, or an entry of its own)", "NAME");
  values_[hardware].place = Place::device;
  m->add_flag("--force", asked->force,
              "replace the tables of the folder, and keep a fit that makes other tables worse");
}

}  // namespace mlsysim::cli
