// Commands for what compilers of models leave behind.

#include "cli/commands_compile.hpp"
#include "cli/program.hpp"

#include <memory>

namespace mlsysim::cli {
namespace {

/// Adds the options that name the files to read and say how to read them.
void reading_options(CLI::App& app, IngestRequest& asked) {
  demand(app, "PATH", asked.paths, "files and folders");
  offer(app, "--family", asked.how.family, "of models that do not say theirs", "NAME");
  offer(app, "--model", asked.how.model, "of files that do not say theirs", "NAME");
  offer(app, "--commit", asked.how.commit, "of the code that was compiled", "NAME");
  offer(app, "--registry", asked.how.registry, "graph_break_registry.json of another PyTorch", "FILE");
  app.add_flag("--strict", asked.strict, "refuse what is damaged, instead of counting it");
  app.add_flag("--keep-duplicates", asked.keep_duplicates, "count files with the same content each time");
}

/// How what was read is shown.
void ingest_options(CLI::App& app, IngestRequest& asked) {
  offer(app, "--by", asked.by, "how breaks are put together: type or place", "NAME")
      ->check(CLI::IsMember({"type", "place"}))
      ->capture_default_str();
  reading_options(app, asked);
  app.add_flag("--document", asked.document, "write the one record as an explain document (JSON)");
  offer(app, "--graph", asked.graph, "the graphs, and the breaks that cut them: dot, mermaid, svg or json",
        "FORM")
      ->check(CLI::IsMember({"dot", "mermaid", "svg", "json"}));
  offer(app, "--html", asked.html, "file for a page with every break, by category and by commit", "FILE");
  app.add_flag("--force", asked.force, "replace a page that this command has not written");
}

void diff_command(const AddCommand& add, const RenderOptions& render) {
  const auto diff = std::make_shared<CompileDiffRequest>();
  auto* d =
      add("diff", "List breaks that appeared, vanished or changed, and their cost",
          "Breaks are the same where type, file and function are; a line that moves is no change. With a "
          "model and a device "
          "the difference is priced, and each place gets its exact part.\n"
          "Examples:\n  mlsysim graph-breaks diff before.log after.log\n"
          "  mlsysim graph-breaks diff before/ after/ --workload Llama3_8B --hardware H100 --with "
          "arrival_rate='20 request/s' "
          "--with accelerators=512 --with 'device_hour=2 USD'\n"
          "Exit codes: 0 not worse, 1 more breaks or, where priced, a worse number; or bad input.",
          [diff, &render] { return compile_diff(*diff, render); });
  demand(*d, "BEFORE", diff->before, "file or folder of records");
  demand(*d, "AFTER", diff->after, "file or folder of records");
  offer(*d, "--model", diff->how.model,
        "of files that do not say theirs: both sides are compared model by model", "NAME");
  offer(*d, "--registry", diff->how.registry, "graph_break_registry.json of another PyTorch", "FILE");
  offer(*d, "--workload", diff->workload, "model of the zoo, or a file, that the records are of", "MODEL");
  offer(*d, "--hardware", diff->hardware, "device of the zoo, or a file", "DEVICE");
  offer(*d, "--with", diff->inputs, "input of CompilationModel or TailLatencyModel; may be repeated",
        "NAME=VALUE");
  offer(*d, "--metric", diff->metric,
        "number that is priced (default: p99_latency with arrival_rate, else compiled)", "NAME");
}

void calibrate_command(const AddCommand& add, const RenderOptions& render) {
  const auto asked = std::make_shared<IngestRequest>();
  auto* c = add(
      "calibrate", "Fit compile times by graph, operator and guard to records",
      "Least squares over every record that says its operators and its time; the residuals are shown. What "
      "it gives for a "
      "model is what --compile-time of CompilationModel takes.\n"
      "Examples:\n  mlsysim graph-breaks calibrate trace_logs/\n  mlsysim graph-breaks calibrate runs/ "
      "explain.txt "
      "bert.log.gz -o csv\n"
      "Exit codes: 0 fine, 1 fewer than three records say it, or they do not tell the parts apart.",
      [asked, &render] { return compile_calibrate(*asked, render); });
  reading_options(*c, *asked);
}

}  // namespace

void Program::compile_commands() {
  auto* c = command(app_, "graph-breaks",
                    "Read graph breaks and compile times of torch.compile, and what they cost",
                    "Examples:\n  mlsysim graph-breaks ingest trace_logs/\n  mlsysim graph-breaks ingest "
                    "explain.json --by place",
                    {});
  const auto asked = std::make_shared<IngestRequest>();
  auto* i = command(
      *c, "ingest", "Read torch._dynamo.explain documents and TORCH_TRACE logs",
      "Folders are read with all files in them; the folder below the one that is named is the family of a "
      "model.\n"
      "Examples:\n  mlsysim graph-breaks ingest dedicated_log_torch_trace_rank_0_abc.log.gz\n"
      "  mlsysim graph-breaks ingest runs/ --by place -o csv\n"
      "  mlsysim graph-breaks ingest explain.txt --model bert-tiny --document > explain.json\n"
      "Exit codes: 0 fine, 1 a file is none of these or, with --strict, damaged.",
      [this, asked] { return compile_ingest(*asked, render_); });
  ingest_options(*i, *asked);
  calibrate_command(adder(*c), render_);
  diff_command(adder(*c), render_);
  const auto out = std::make_shared<CompileExportRequest>();
  auto* e = command(
      *c, "export", "Write breaks as metrics or log lines, and send them to servers",
      "Nothing is sent anywhere unless --push, --loki or --otlp names a server.\n"
      "Examples:\n  mlsysim graph-breaks export runs/ --commit abc > compile.prom\n"
      "  mlsysim graph-breaks export runs/ --alias-compile-breaks --push http://127.0.0.1:9091 --job ci\n"
      "  mlsysim graph-breaks export runs/ --form logfmt >> breaks.log\n"
      "  mlsysim graph-breaks export --push http://127.0.0.1:9091 --job ci --delete-group\n"
      "Exit codes: 0 fine, 1 bad input, 5 a server did not take what was sent.",
      [out] { return compile_export(*out); });
  reading_options(*e, out->read);
  e->get_option("PATH")->required(false);  // not to delete a group
  e->add_flag("--delete-group", out->delete_group,
              "remove the group of --push, --job and --group from the gateway");
  e->add_flag("--loki-no-metadata", out->no_metadata,
              "lines alone, for servers before Loki 3: they hold every field");
  offer(*e, "--form", out->format, "prometheus, openmetrics, otlp, loki, logfmt, jsonl or csv", "NAME")
      ->check(CLI::IsMember({"prometheus", "openmetrics", "otlp", "loki", "logfmt", "jsonl", "csv"}))
      ->capture_default_str();
  e->add_flag("--alias-compile-breaks", out->alias, "also compile_breaks_total{model,commit,reason}");
  offer(*e, "--push", out->push, "Pushgateway that takes the metrics in place of those of its group", "URL");
  offer(*e, "--job", out->job, "job of the group, and of streams", "NAME")->capture_default_str();
  offer(*e, "--group", out->groups, "more of the key of the group; may be repeated", "LABEL=VALUE");
  offer(*e, "--loki", out->loki, "server that takes the lines: http://host:3100", "URL");
  offer(*e, "--otlp", out->otlp, "receiver that takes the metrics: http://host:9090/api/v1/otlp/v1/metrics",
        "URL");
  offer(*e, "--credentials-env", out->credentials_env, "variable that holds user:password", "NAME");
  offer(*e, "--time", out->time, "of lines and of OTLP, ns since 1970 (default: now)", "NS");
  offer(*e, "--retry-wait", out->wait, "seconds before the second of three tries", "S")
      ->capture_default_str();
  offer(*e, "--timeout", out->timeout, "seconds that one try may take, whatever the server does", "S")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  e->add_flag("--push-best-effort", out->best_effort, "a server that does not answer is a warning");
}

}  // namespace mlsysim::cli
