// Commands that hold predictions to what was accepted.

#include "cli/commands_ci.hpp"
#include "cli/commands_watch.hpp"
#include "cli/program.hpp"

#include <memory>

namespace mlsysim::cli {
namespace {

void history_options(CLI::App& app, CiHistoryRequest& asked) {
  offer(app, "--history", asked.history, "file of SQLite that ci run wrote", "FILE")->required();
  offer(app, "--metric", asked.metric, "number of the cells", "NAME")->required();
}

void watch_command(const AddCommand& add, const RenderOptions& render) {
  const auto asked = std::make_shared<WatchRequest>();
  auto* w = add(
      "watch", "Compare a running engine (vLLM, SGLang) with its prediction",
      "Times to the first and the next token are read from the metrics of each server; batch, prompt, answer "
      "and "
      "cached prefix are those that it runs, unless --with says otherwise. Nothing but the URLs is called.\n"
      "Examples:\n  mlsysim watch http://127.0.0.1:8000/metrics --workload Llama3_8B --hardware H100\n"
      "  mlsysim watch http://a:8000/metrics http://b:8000/metrics --workload Llama3_70B --hardware H100 "
      "--with accelerators=8 --count 60 --interval 10 --metrics /var/lib/node_exporter/mlsysim.prom\n"
      "Exit codes: 0 all inside their bands, 1 a number is outside, 5 a server gave nothing.",
      [asked, &render] { return watch(*asked, render); });
  demand(*w, "URL", asked->urls, "pages with metrics");
  offer(*w, "--workload", asked->plan.workload, "model of the zoo, or a file", "MODEL")->required();
  offer(*w, "--hardware", asked->plan.hardware, "device of the zoo, or a file", "DEVICE")->required();
  offer(*w, "--with", asked->fields, "input of the scenario, as in eval; may be repeated", "NAME=VALUE");
  offer(*w, "--coverage", asked->plan.coverage, "share of what the ranges of the zoo allow that a band holds",
        "X")
      ->check(CLI::Range(0.01, 0.999))
      ->capture_default_str();
  offer(*w, "--slack", asked->plan.slack, "by which bands are wider than that, on both sides", "X")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  offer(*w, "--count", asked->count, "askings; from the second on, means are those since the one before", "N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  offer(*w, "--interval", asked->interval, "seconds between two askings", "S")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  offer(*w, "--timeout", asked->timeout, "seconds for an answer", "S")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  offer(*w, "--metrics", asked->metrics,
        "file for the textfile collector of Prometheus, replaced at each asking", "FILE");
  offer(*w, "--push", asked->push, "Pushgateway that takes the same metrics", "URL");
  offer(*w, "--job", asked->job, "job of the group that is pushed", "NAME")->capture_default_str();
  offer(*w, "--credentials-env", asked->credentials_env, "variable that holds user:password", "NAME");
}

void sending_options(CLI::App& app, CiSending& to) {
  offer(app, "--push", to.push,
        "Pushgateway that takes the numbers, a group for each pipeline and family of models", "URL");
  offer(app, "--otlp", to.otlp, "receiver that takes them, such as http://host:9090/api/v1/otlp/v1/metrics",
        "URL");
  offer(app, "--observe", to.observe, "observability.yaml, each exporter of which gets the run", "FILE")
      ->envname("MLSYSIM_OBSERVE");
  offer(app, "--job", to.job, "job of the groups", "NAME")->capture_default_str();
  app.add_flag("--alias-compile-breaks", to.alias, "also compile_breaks_total{model,commit,reason}");
  offer(app, "--credentials-env", to.credentials_env, "variable that holds user:password", "NAME");
  offer(app, "--retry-wait", to.wait, "seconds before the second of three tries", "S")->capture_default_str();
  offer(app, "--timeout", to.timeout, "seconds that one try may take, whatever the server does", "S")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  app.add_flag("--push-best-effort", to.best_effort, "a server that does not take it is a warning");
}

void history_commands(const AddCommand& add, const RenderOptions& render) {
  const auto history = std::make_shared<CiHistoryRequest>();
  auto* t = add(
      "trend", "Show a number over the commits of a history",
      "Examples:\n  mlsysim ci trend --history predictions.sqlite --metric itl\n"
      "  mlsysim ci trend --history predictions.sqlite --metric itl --cell Llama3_8B/H100/bf16/serve -o csv",
      [history, &render] { return ci_trend(*history, render); });
  history_options(*t, *history);
  offer(*t, "--cell", history->cell, "one cell, commit by commit (default: all, a line each)", "CELL");
  t->add_flag("--openmetrics", history->openmetrics,
              "all points with their times, for promtool tsdb create-blocks-from openmetrics");
  const auto prune = std::make_shared<CiPruneRequest>();
  auto* p =
      add("prune", "Remove old commits from a history or a gateway",
          "A commit goes where no limit that is given keeps it.\n"
          "Examples:\n  mlsysim ci prune --history predictions.sqlite --keep 500 --older-than '180 day' "
          "--dry-run\n"
          "  mlsysim ci prune --history predictions.sqlite --matrix predictions.yaml\n"
          "  mlsysim ci prune --push http://127.0.0.1:9091 --matrix predictions.yaml\n"
          "Exit codes: 0 fine, 2 the history or the gateway cannot be used, or no commit would stay.",
          [prune, &render] { return ci_prune(*prune, render); });
  auto* file = offer(*p, "--history", prune->history, "file of SQLite that ci run wrote", "FILE");
  auto* gateway =
      offer(*p, "--push", prune->push,
            "Pushgateway instead: groups of the job that --matrix does not fill any more go", "URL")
          ->excludes(file);
  offer(*p, "--job", prune->job, "job of these groups", "NAME")->capture_default_str()->needs(gateway);
  offer(*p, "--credentials-env", prune->credentials_env, "variable that holds user:password", "NAME")
      ->needs(gateway);
  offer(*p, "--keep", prune->keep, "newest commits that stay, whatever their age", "N")
      ->check(CLI::PositiveNumber);
  offer(*p, "--older-than", prune->older_than, "age from which on a commit goes, e.g. '90 day'", "TIME");
  offer(*p, "--matrix", prune->matrix, "cells that this matrix has not go", "FILE");
  offer(*p, "--time", prune->time,
        "from which ages count, ns since 1970 (default: SOURCE_DATE_EPOCH, else now)", "NS");
  p->add_flag("--dry-run", prune->dry_run, "say what would go, and change nothing");
  auto* b =
      add("bisect", "Find the first stored commit from which on a number is worse",
          "Examples:\n  mlsysim ci bisect --history predictions.sqlite --metric itl --cell "
          "Llama3_8B/H100/bf16/serve\n"
          "  mlsysim ci bisect --history predictions.sqlite --metric itl --cell Llama3_8B/H100/bf16/serve "
          "--good v1.0 --relative 0.01\n"
          "Exit codes: 0 none is worse, 1 there is one, 2 the history cannot be used.",
          [history, &render] { return ci_bisect(*history, render); });
  history_options(*b, *history);
  offer(*b, "--cell", history->cell, "model/hardware/precision/pipeline", "CELL")->required();
  offer(*b, "--good", history->good, "a commit before (default: the first)", "COMMIT");
  offer(*b, "--bad", history->bad, "a commit behind (default: the last)", "COMMIT");
  offer(*b, "--relative", history->relative, "change that is none", "X")->capture_default_str();
  offer(*b, "--better", history->better, "lower, higher or neither (default: by the dimension of the number)",
        "NAME")
      ->check(CLI::IsMember({"lower", "higher", "neither"}));
}

}  // namespace

void Program::ci_commands() {
  watch_command(adder(app_), render_);
  auto* c =
      command(app_, "ci", "Hold predictions to budgets and to what was accepted, commit by commit",
              "Examples:\n  mlsysim ci accept predictions.yaml\n"
              "  mlsysim ci run predictions.yaml --history predictions.sqlite --report junit=predictions.xml",
              {});
  const auto asked = std::make_shared<CiRequest>();
  auto* r =
      command(*c, "run", "Predict a matrix of models, hardware and pipelines, and compare it",
              "What changed is attributed, exactly, to the figures that changed, as compare does.\n"
              "Examples:\n  mlsysim ci run predictions.yaml\n"
              "  mlsysim ci run predictions.yaml -j 2 -o markdown --report html=predictions.html\n"
              "  mlsysim ci run predictions.yaml --state predictions.state --resume\n"
              "  mlsysim ci run predictions.yaml --push http://127.0.0.1:9091 --job nightly\n"
              "Exit codes: 0 fine, 1 a number is worse or a budget is broken, 2 the matrix cannot be "
              "used, 3 a plugin failed or --strict refused a record, 4 other cells failed or the run was "
              "stopped, "
              "5 a report or the history could not be written, or a server did not take what was sent.",
              [this, asked] { return ci_run(*asked, render_); });
  const auto matrix = [&](CLI::App& app) {
    demand(app, "MATRIX", asked->matrix, "file in YAML");
    offer(app, "-j,--jobs", asked->jobs, "threads; the answer does not depend on them", "N")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
  };
  matrix(*r);
  offer(*r, "--history", asked->history, "file of SQLite that takes the numbers of this commit", "FILE");
  offer(*r, "--commit", asked->commit,
        "default: GIT_COMMIT, GITHUB_SHA, CI_COMMIT_SHA, else what git has here", "NAME");
  offer(*r, "--time", asked->time, "of the commit, ns since 1970 (default: SOURCE_DATE_EPOCH, else now)",
        "NS");
  offer(*r, "--report", asked->reports,
        "text, markdown, json, csv, junit, html or gitlab, into a file; may be repeated", "FORM=FILE");
  r->add_flag("--force", asked->force, "replace reports that this command has not written");
  sending_options(*r, asked->sending);
  offer(*r, "--annotate", asked->annotate, "automatic, none, plain or github: a line for all that fails",
        "NAME")
      ->check(CLI::IsMember({"automatic", "none", "plain", "github"}))
      ->capture_default_str();
  auto* state =
      offer(*r, "--state", asked->state,
            "file that keeps what is finished when Ctrl-C stops the run; gone when it is whole", "FILE");
  r->add_flag("--resume", asked->resume,
              "go on with what --state holds; from the beginning where it is not there")
      ->needs(state);
  r->add_flag("--strict", asked->strict, "refuse damaged records of a compiler: exit code 3");
  r->add_flag("--no-baseline", asked->no_baseline, "predict and hold to budgets alone");

  auto* a = command(
      *c, "accept", "Write the baseline: what is predicted now is expected from now on",
      "Examples:\n  mlsysim ci accept predictions.yaml\n  mlsysim ci accept predictions.yaml -j 2 --force",
      [asked] { return ci_accept(*asked); });
  matrix(*a);
  a->add_flag("--force", asked->force, "replace a file that this command has not written");
  history_commands(adder(*c), render_);
}

}  // namespace mlsysim::cli
