// The commands that draw.

#include "cli/program.hpp"

#include "command_picture.hpp"

#include <fmt/format.h>

#include <memory>

namespace mlsysim::cli {

/// BibTeX with version, and commit and date where the build knew them (citation.cpp).
std::string citation();

void Program::picture_commands() {
  const auto asked = std::make_shared<PlotRequest>();
  auto* p = command(
      app_, "plot", "Draw rooflines, waterfalls, timelines, tornados, curves and fronts",
      "Examples:\n"
      "  mlsysim plot roofline Llama3_70B H100 itl --accelerators 8 -o svg > roofline.svg\n"
      "  mlsysim plot waterfall Llama3_70B H100 ttft --accelerators 8\n"
      "  mlsysim plot schedule Llama3_8B H100 --mode train --accelerators 16 --pp-size 4 --batch-size 32 -o "
      "trace > step.json\n"
      "  mlsysim plot tornado Llama3_70B H100 itl --accelerators 8 -o vega\n"
      "  mlsysim plot curve Llama3_70B H100 itl --accelerators 8 --axis batch_size=1..256*2\n"
      "  mlsysim plot heatmap Llama3_70B H100 itl --accelerators 8 --axis batch_size=1..64*2 --axis "
      "seq_len=1024..16384*2\n"
      "  mlsysim plot pareto Llama3_70B H100 --accelerators 8 --axis hardware=H100,H200 --axis "
      "batch_size=1..64*2 --minimize itl --maximize token_throughput --interval 80 --measured\n"
      "  mlsysim plot difference Llama3_70B H100 itl --accelerators 8 --with hardware=H200\n"
      "  mlsysim plot topology Research_256\n"
      "  mlsysim plot layers Qwen3_30B_A3B\n"
      "  mlsysim plot pipeline ServingModel workload=Llama3_8B hardware=H100\n"
      "  mlsysim plot curve Llama3_8B H100 itl --axis batch_size=1..64*2 --size 480x300 --font-size 11 "
      "--title "
      "'Time per token' --label y='time per token' -o figure.pdf\n"
      "Forms: text (default), svg, png, pdf, html, vega, json, csv; trace of a timeline or schedule. -o "
      "FILE.svg writes the file.",
      [this, asked] {
        asked->space = search_;
        asked->with = compare_.with;
        asked->against = compare_.against;
        asked->output = format_;
        return plot(scenario_, *asked, render_);
      },
      {Place::none, Place::model, Place::machine, Place::metric});
  auto* kind = p->add_option("KIND", asked->kind, fmt::format("{}", fmt::join(plot_kinds(), ", ")));
  kind->required()->type_name("")->check(CLI::IsMember(plot_kinds()));
  values_[kind].choices = plot_kinds();
  demand(*p, "WORDS", scenario_.targets,
         "MODEL HARDWARE or a plan file, then the RESULT; a machine, a model, stages, or tables of "
         "measurements");
  const auto list = [p](const char* name, std::vector<std::string>& to, const char* about, const char* type) {
    offer(*p, name, to, about, type)->group("Picture");
  };
  list("--axis", search_.axes, "what varies, as in sweep; may be repeated", "NAME=VALUES|@FILE");
  list("--minimize", search_.minimize, "objective of a front", "EXPRESSION");
  list("--maximize", search_.maximize, "objective of a front", "EXPRESSION");
  list("--subject-to", search_.constraints, "constraint, e.g. 'ttft <= 500 ms'", "CONDITION");
  list("--with", compare_.with, "difference: a change of the second configuration", "NAME=VALUE");
  list("--against", compare_.against, "difference: a change of the first configuration", "NAME=VALUE");
  offer(*p, "--step", asked->step, "relative move of a tornado (default: 0.1)", "N")->group("Picture");
  offer(*p, "--context", asked->context, "layers: tokens of the request whose cache is drawn", "N")
      ->capture_default_str()
      ->group("Picture");
  offer(*p, "--title", asked->title, "title of the picture (default: what it shows)", "TEXT")
      ->group("Picture");
  offer(*p, "--size", asked->size,
        "width and height in pixels, e.g. 480x320 (default: 760 and what it needs)", "WxH")
      ->group("Picture");
  offer(*p, "--font-size", asked->font_size,
        "size of ticks and labels in pixels; all else grows with it (default: 12)", "N")
      ->check(CLI::Range(4.0, 60.0))
      ->group("Picture");
  list("--label", asked->labels, "replace words of the picture; x and y are the axis titles; may be repeated",
       "WORDS=TEXT");
  interval_option(*p, asked->interval);
  p->add_flag("--measured", asked->measured, "pareto: what engines were measured to do, beside the front")
      ->group("Picture");
  p->add_flag("--force", asked->force, "replace a file that others wrote")->group("Picture");
  scenario_options(*p, std::nullopt);
  report_command();
}

void Program::report_command() {
  const auto asked = std::make_shared<ReportRequest>();
  auto* r = command(
      app_, "report", "Write one page with answer, pictures, derivations and measurements",
      "Examples:\n"
      "  mlsysim report Llama3_70B H100 --accelerators 8 > chat.html\n"
      "  mlsysim report Llama3_70B H100 --accelerators 8 --with hardware=H200 -o md\n"
      "  mlsysim report plan.yaml --against-plan other.yaml -o report.html\n"
      "  mlsysim report Llama3_8B H100 --text\n"
      "  mlsysim report Llama3_8B H100 --records after/ --records-before before/ -o breaks.html\n"
      "The page needs nothing from elsewhere and runs nothing. -o FILE.pdf is printed by weasyprint or "
      "Chromium, where there is one.",
      [this, asked] {
        asked->output = asked->text ? "text" : format_ == "text" ? "html" : format_;
        asked->with = compare_.with;
        return report(scenario_, *asked, render_);
      },
      {Place::model, Place::machine});
  demand(*r, "WORDS", scenario_.targets, "MODEL HARDWARE, or a plan file");
  offer(*r, "--with", compare_.with, "compare with this change; may be repeated", "NAME=VALUE");
  offer(*r, "--against-plan", asked->other, "compare with this plan", "FILE");
  offer(*r, "--records", asked->records,
        "records of a compiler, files or folders: their graph breaks by reason over commits; may be repeated",
        "PATH");
  offer(*r, "--records-before", asked->records_before, "records to compare them with; may be repeated",
        "PATH")
      ->needs("--records");
  offer(*r, "--pipeline", asked->pipeline, "stage of a pipeline that is drawn, or its file; may be repeated",
        "STAGE");
  r->add_flag_callback(
       "--cite", [] { throw CallForText{citation()}; }, "Print how to cite mlsysim, as BibTeX")
      ->trigger_on_parse();
  r->add_flag("--text", asked->text, "for a terminal: tables as wide as it is, derivations with --verbose");
  r->add_flag("--force", asked->force, "replace a file that others wrote");
  limit_options(*r, [this](ServiceLimit limit) { scenario_.limits.push_back(std::move(limit)); });
  scenario_options(*r, std::nullopt);
}

}  // namespace mlsysim::cli
