// Commands for what compilers of models leave behind.

#include "commands_compile.hpp"
#include "program.hpp"

#include <memory>

namespace mlsysim::cli {
namespace {

/// What is read, and how.
void reading_options(CLI::App& app, IngestRequest& asked) {
  app.add_option("PATH", asked.paths, "files and folders")->required()->type_name("");
  app.add_option("--family", asked.how.family, "of models that do not say theirs")->type_name("NAME");
  app.add_option("--model", asked.how.model, "of files that do not say theirs")->type_name("NAME");
  app.add_option("--commit", asked.how.commit, "of the code that was compiled")->type_name("NAME");
  app.add_option("--registry", asked.how.registry, "graph_break_registry.json of another PyTorch")
      ->type_name("FILE");
  app.add_flag("--strict", asked.strict, "refuse what is damaged, instead of counting it");
  app.add_flag("--keep-duplicates", asked.keep_duplicates, "count files with the same content each time");
}

/// How what was read is shown.
void ingest_options(CLI::App& app, IngestRequest& asked) {
  app.add_option("--by", asked.by, "how breaks are put together: type or place")
      ->type_name("NAME")
      ->check(CLI::IsMember({"type", "place"}))
      ->capture_default_str();
  reading_options(app, asked);
  app.add_flag("--document", asked.document, "write the one record as an explain document (JSON)");
  app.add_option("--graph", asked.graph,
                 "the graphs, and the breaks that cut them: dot, mermaid, svg or json")
      ->type_name("FORM")
      ->check(CLI::IsMember({"dot", "mermaid", "svg", "json"}));
  app.add_option("--html", asked.html, "file for a page with every break, by category and by commit")
      ->type_name("FILE");
  app.add_flag("--force", asked.force, "replace a page that this command has not written");
}

using AddCommand = std::function<CLI::App*(const char* name, const char* about, const char* examples,
                                           std::function<Answer()>)>;

void diff_command(const AddCommand& add, const RenderOptions& render) {
  const auto diff = std::make_shared<CompileDiffRequest>();
  auto* d =
      add("diff", "breaks that are new, gone, more or fewer between two records, and what that costs",
          "Breaks are the same where type, file and function are; a line that moves is no change. With a "
          "model and a device "
          "the difference is priced, and each place gets its exact part.\n"
          "Examples:\n  mlsysim compile diff before.log after.log\n"
          "  mlsysim compile diff before/ after/ --workload Llama3_8B --hardware H100 --with "
          "arrival_rate='20 request/s' "
          "--with accelerators=512 --with 'device_hour=2 USD'\n"
          "Exit codes: 0 not worse, 1 more breaks or, where priced, a worse number; or bad input.",
          [diff, &render] { return compile_diff(*diff, render); });
  d->add_option("BEFORE", diff->before, "file or folder of records")->required()->type_name("");
  d->add_option("AFTER", diff->after, "file or folder of records")->required()->type_name("");
  d->add_option("--model", diff->how.model,
                "of files that do not say theirs: both sides are compared model by model")
      ->type_name("NAME");
  d->add_option("--registry", diff->how.registry, "graph_break_registry.json of another PyTorch")
      ->type_name("FILE");
  d->add_option("--workload", diff->workload, "model of the zoo, or a file, that the records are of")
      ->type_name("MODEL");
  d->add_option("--hardware", diff->hardware, "device of the zoo, or a file")->type_name("DEVICE");
  d->add_option("--with", diff->inputs, "input of CompilationModel or TailLatencyModel; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  d->add_option("--metric", diff->metric,
                "number that is priced (default: p99_latency with arrival_rate, else compiled)")
      ->type_name("NAME");
}

void calibrate_command(const AddCommand& add, const RenderOptions& render) {
  const auto asked = std::make_shared<IngestRequest>();
  auto* c = add(
      "calibrate", "how long compiling takes by graph, operator and guard, fitted to records",
      "Least squares over every record that says its operators and its time; the residuals are shown. What "
      "it gives for a "
      "model is what --compile-time of CompilationModel takes.\n"
      "Examples:\n  mlsysim compile calibrate trace_logs/\n  mlsysim compile calibrate runs/ explain.txt "
      "bert.log.gz -o csv\n"
      "Exit codes: 0 fine, 1 fewer than three records say it, or they do not tell the parts apart.",
      [asked, &render] { return compile_calibrate(*asked, render); });
  reading_options(*c, *asked);
}

}  // namespace

void Program::compile_commands() {
  auto* c = command(
      app_, "compile", "graph breaks, compile times and what they cost",
      "Examples:\n  mlsysim compile ingest trace_logs/\n  mlsysim compile ingest explain.json --by place",
      {});
  const auto asked = std::make_shared<IngestRequest>();
  auto* i = command(
      *c, "ingest",
      "read explain documents, texts and pickles of torch._dynamo.explain, and TORCH_TRACE logs of all ranks",
      "Folders are read with all files in them; the folder below the one that is named is the family of a "
      "model.\n"
      "Examples:\n  mlsysim compile ingest dedicated_log_torch_trace_rank_0_abc.log.gz\n"
      "  mlsysim compile ingest runs/ --by place -o csv\n"
      "  mlsysim compile ingest explain.txt --model bert-tiny --document > explain.json\n"
      "Exit codes: 0 fine, 1 a file is none of these or, with --strict, damaged.",
      [this, asked] { return compile_ingest(*asked, render_); });
  ingest_options(*i, *asked);
  calibrate_command(
      [this, c](const char* name, const char* about, const char* examples, std::function<Answer()> run) {
        return command(*c, name, about, examples, std::move(run));
      },
      render_);
  diff_command(
      [this, c](const char* name, const char* about, const char* examples, std::function<Answer()> run) {
        return command(*c, name, about, examples, std::move(run));
      },
      render_);
  const auto out = std::make_shared<CompileExportRequest>();
  auto* e =
      command(*c, "export",
              "breaks as metrics or as lines of a log: written, and sent to servers where URLs are given",
              "Nothing is sent anywhere unless --push, --loki or --otlp names a server.\n"
              "Examples:\n  mlsysim compile export runs/ --commit abc > compile.prom\n"
              "  mlsysim compile export runs/ --alias-compile-breaks --push http://127.0.0.1:9091 --job ci\n"
              "  mlsysim compile export runs/ --form logfmt >> breaks.log\n"
              "  mlsysim compile export --push http://127.0.0.1:9091 --job ci --delete-group\n"
              "Exit codes: 0 fine, 1 bad input, 5 a server did not take what was sent.",
              [out] { return compile_export(*out); });
  reading_options(*e, out->read);
  e->get_option("PATH")->required(false);  // not to delete a group
  e->add_flag("--delete-group", out->delete_group,
              "remove the group of --push, --job and --group from the gateway");
  e->add_flag("--loki-no-metadata", out->no_metadata,
              "lines alone, for servers before Loki 3: they hold every field");
  e->add_option("--form", out->format, "prometheus, openmetrics, otlp, loki, logfmt, jsonl or csv")
      ->type_name("NAME")
      ->check(CLI::IsMember({"prometheus", "openmetrics", "otlp", "loki", "logfmt", "jsonl", "csv"}))
      ->capture_default_str();
  e->add_flag("--alias-compile-breaks", out->alias, "also compile_breaks_total{model,commit,reason}");
  e->add_option("--push", out->push, "Pushgateway that takes the metrics in place of those of its group")
      ->type_name("URL");
  e->add_option("--job", out->job, "job of the group, and of streams")
      ->type_name("NAME")
      ->capture_default_str();
  e->add_option("--group", out->groups, "more of the key of the group; may be repeated")
      ->type_name("LABEL=VALUE")
      ->allow_extra_args(false);
  e->add_option("--loki", out->loki, "server that takes the lines: http://host:3100")->type_name("URL");
  e->add_option("--otlp", out->otlp,
                "receiver that takes the metrics: http://host:9090/api/v1/otlp/v1/metrics")
      ->type_name("URL");
  e->add_option("--credentials-env", out->credentials_env, "variable that holds user:password")
      ->type_name("NAME");
  e->add_option("--time", out->time, "of lines and of OTLP, ns since 1970 (default: now)")->type_name("NS");
  e->add_option("--retry-wait", out->wait, "seconds before the second of three tries")
      ->type_name("S")
      ->capture_default_str();
  e->add_option("--timeout", out->timeout, "seconds that one try may take, whatever the server does")
      ->type_name("S")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  e->add_flag("--push-best-effort", out->best_effort, "a server that does not answer is a warning");
}

}  // namespace mlsysim::cli
