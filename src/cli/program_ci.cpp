// Commands that hold predictions to what was accepted.

#include "commands_ci.hpp"
#include "commands_watch.hpp"
#include "program.hpp"

#include <memory>

namespace mlsysim::cli {
namespace {

void history_options(CLI::App& app, CiHistoryRequest& asked) {
  app.add_option("--history", asked.history, "file of SQLite that ci run wrote")
      ->required()
      ->type_name("FILE");
  app.add_option("--metric", asked.metric, "number of the cells")->required()->type_name("NAME");
}

using AddCommand = std::function<CLI::App*(const char* name, const char* about, const char* examples,
                                           std::function<Answer()>)>;

void watch_command(const AddCommand& add, const RenderOptions& render) {
  const auto asked = std::make_shared<WatchRequest>();
  auto* w = add(
      "watch", "a running engine (vLLM, SGLang) beside what is predicted for it",
      "Times to the first and the next token are read from the metrics of each server; batch, prompt, answer "
      "and "
      "cached prefix are those that it runs, unless --with says otherwise. Nothing but the URLs is called.\n"
      "Examples:\n  mlsysim watch http://127.0.0.1:8000/metrics --workload Llama3_8B --hardware H100\n"
      "  mlsysim watch http://a:8000/metrics http://b:8000/metrics --workload Llama3_70B --hardware H100 "
      "--with accelerators=8 --count 60 --interval 10 --metrics /var/lib/node_exporter/mlsysim.prom\n"
      "Exit codes: 0 all inside their bands, 1 a number is outside, 5 a server gave nothing.",
      [asked, &render] { return watch(*asked, render); });
  w->add_option("URL", asked->urls, "pages with metrics")->required()->type_name("");
  w->add_option("--workload", asked->plan.workload, "model of the zoo, or a file")
      ->required()
      ->type_name("MODEL");
  w->add_option("--hardware", asked->plan.hardware, "device of the zoo, or a file")
      ->required()
      ->type_name("DEVICE");
  w->add_option("--with", asked->fields, "input of the scenario, as in eval; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  w->add_option("--coverage", asked->plan.coverage,
                "share of what the ranges of the zoo allow that a band holds")
      ->type_name("X")
      ->check(CLI::Range(0.01, 0.999))
      ->capture_default_str();
  w->add_option("--slack", asked->plan.slack, "by which bands are wider than that, on both sides")
      ->type_name("X")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  w->add_option("--count", asked->count, "askings; from the second on, means are those since the one before")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  w->add_option("--interval", asked->interval, "seconds between two askings")
      ->type_name("S")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  w->add_option("--timeout", asked->timeout, "seconds for an answer")
      ->type_name("S")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  w->add_option("--metrics", asked->metrics,
                "file for the textfile collector of Prometheus, replaced at each asking")
      ->type_name("FILE");
  w->add_option("--push", asked->push, "Pushgateway that takes the same metrics")->type_name("URL");
  w->add_option("--job", asked->job, "job of the group that is pushed")
      ->type_name("NAME")
      ->capture_default_str();
  w->add_option("--credentials-env", asked->credentials_env, "variable that holds user:password")
      ->type_name("NAME");
}

void sending_options(CLI::App& app, CiSending& to) {
  app.add_option("--push", to.push,
                 "Pushgateway that takes the numbers, a group for each pipeline and family of models")
      ->type_name("URL");
  app.add_option("--otlp", to.otlp,
                 "receiver that takes them, such as http://host:9090/api/v1/otlp/v1/metrics")
      ->type_name("URL");
  app.add_option("--observe", to.observe, "observability.yaml, each exporter of which gets the run")
      ->type_name("FILE")
      ->envname("MLSYSIM_OBSERVE");
  app.add_option("--job", to.job, "job of the groups")->type_name("NAME")->capture_default_str();
  app.add_flag("--alias-compile-breaks", to.alias, "also compile_breaks_total{model,commit,reason}");
  app.add_option("--credentials-env", to.credentials_env, "variable that holds user:password")
      ->type_name("NAME");
  app.add_option("--retry-wait", to.wait, "seconds before the second of three tries")
      ->type_name("S")
      ->capture_default_str();
  app.add_option("--timeout", to.timeout, "seconds that one try may take, whatever the server does")
      ->type_name("S")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  app.add_flag("--push-best-effort", to.best_effort, "a server that does not take it is a warning");
}

void history_commands(const AddCommand& add, const RenderOptions& render) {
  const auto history = std::make_shared<CiHistoryRequest>();
  auto* t = add(
      "trend", "what a number did over the commits of a history",
      "Examples:\n  mlsysim ci trend --history predictions.sqlite --metric itl\n"
      "  mlsysim ci trend --history predictions.sqlite --metric itl --cell Llama3_8B/H100/bf16/serve -o csv",
      [history, &render] { return ci_trend(*history, render); });
  history_options(*t, *history);
  t->add_option("--cell", history->cell, "one cell, commit by commit (default: all, a line each)")
      ->type_name("CELL");
  t->add_flag("--openmetrics", history->openmetrics,
              "all points with their times, for promtool tsdb create-blocks-from openmetrics");
  const auto prune = std::make_shared<CiPruneRequest>();
  auto* p = add(
      "prune", "remove old commits from a history, and what is predicted no more from it or from a gateway",
      "A commit goes where no limit that is given keeps it.\n"
      "Examples:\n  mlsysim ci prune --history predictions.sqlite --keep 500 --older-than '180 day' "
      "--dry-run\n"
      "  mlsysim ci prune --history predictions.sqlite --matrix predictions.yaml\n"
      "  mlsysim ci prune --push http://127.0.0.1:9091 --matrix predictions.yaml\n"
      "Exit codes: 0 fine, 2 the history or the gateway cannot be used, or no commit would stay.",
      [prune, &render] { return ci_prune(*prune, render); });
  auto* file =
      p->add_option("--history", prune->history, "file of SQLite that ci run wrote")->type_name("FILE");
  auto* gateway =
      p->add_option("--push", prune->push,
                    "Pushgateway instead: groups of the job that --matrix does not fill any more go")
          ->type_name("URL")
          ->excludes(file);
  p->add_option("--job", prune->job, "job of these groups")
      ->type_name("NAME")
      ->capture_default_str()
      ->needs(gateway);
  p->add_option("--credentials-env", prune->credentials_env, "variable that holds user:password")
      ->type_name("NAME")
      ->needs(gateway);
  p->add_option("--keep", prune->keep, "newest commits that stay, whatever their age")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  p->add_option("--older-than", prune->older_than, "age from which on a commit goes, e.g. '90 day'")
      ->type_name("TIME");
  p->add_option("--matrix", prune->matrix, "cells that this matrix has not go")->type_name("FILE");
  p->add_option("--time", prune->time,
                "from which ages count, ns since 1970 (default: SOURCE_DATE_EPOCH, else now)")
      ->type_name("NS");
  p->add_flag("--dry-run", prune->dry_run, "say what would go, and change nothing");
  auto* b =
      add("bisect", "the first stored commit from which on a number is worse",
          "Examples:\n  mlsysim ci bisect --history predictions.sqlite --metric itl --cell "
          "Llama3_8B/H100/bf16/serve\n"
          "  mlsysim ci bisect --history predictions.sqlite --metric itl --cell Llama3_8B/H100/bf16/serve "
          "--good v1.0 --relative 0.01\n"
          "Exit codes: 0 none is worse, 1 there is one, 2 the history cannot be used.",
          [history, &render] { return ci_bisect(*history, render); });
  history_options(*b, *history);
  b->add_option("--cell", history->cell, "model/hardware/precision/pipeline")->required()->type_name("CELL");
  b->add_option("--good", history->good, "a commit before (default: the first)")->type_name("COMMIT");
  b->add_option("--bad", history->bad, "a commit behind (default: the last)")->type_name("COMMIT");
  b->add_option("--relative", history->relative, "change that is none")
      ->type_name("X")
      ->capture_default_str();
  b->add_option("--better", history->better,
                "lower, higher or neither (default: by the dimension of the number)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"lower", "higher", "neither"}));
}

}  // namespace

void Program::ci_commands() {
  watch_command(
      [this](const char* name, const char* about, const char* examples, std::function<Answer()> run) {
        return command(app_, name, about, examples, std::move(run));
      },
      render_);
  auto* c =
      command(app_, "ci", "hold predictions to budgets and to what was accepted, commit by commit",
              "Examples:\n  mlsysim ci accept predictions.yaml\n"
              "  mlsysim ci run predictions.yaml --history predictions.sqlite --report junit=predictions.xml",
              {});
  const auto asked = std::make_shared<CiRequest>();
  auto* r =
      command(*c, "run", "predict a matrix of models, hardware, precisions and pipelines, and compare",
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
    app.add_option("MATRIX", asked->matrix, "file in YAML")->required()->type_name("");
    app.add_option("-j,--jobs", asked->jobs, "threads; the answer does not depend on them")
        ->type_name("N")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
  };
  matrix(*r);
  r->add_option("--history", asked->history, "file of SQLite that takes the numbers of this commit")
      ->type_name("FILE");
  r->add_option("--commit", asked->commit,
                "default: GIT_COMMIT, GITHUB_SHA, CI_COMMIT_SHA, else what git has here")
      ->type_name("NAME");
  r->add_option("--time", asked->time, "of the commit, ns since 1970 (default: SOURCE_DATE_EPOCH, else now)")
      ->type_name("NS");
  r->add_option("--report", asked->reports,
                "text, markdown, json, csv, junit, html or gitlab, into a file; may be repeated")
      ->type_name("FORM=FILE")
      ->allow_extra_args(false);
  r->add_flag("--force", asked->force, "replace reports that this command has not written");
  sending_options(*r, asked->sending);
  r->add_option("--annotate", asked->annotate, "automatic, none, plain or github: a line for all that fails")
      ->type_name("NAME")
      ->check(CLI::IsMember({"automatic", "none", "plain", "github"}))
      ->capture_default_str();
  auto* state =
      r->add_option("--state", asked->state,
                    "file that keeps what is finished when Ctrl-C stops the run; gone when it is whole")
          ->type_name("FILE");
  r->add_flag("--resume", asked->resume,
              "go on with what --state holds; from the beginning where it is not there")
      ->needs(state);
  r->add_flag("--strict", asked->strict, "refuse damaged records of a compiler: exit code 3");
  r->add_flag("--no-baseline", asked->no_baseline, "predict and hold to budgets alone");

  auto* a = command(
      *c, "accept", "write the baseline of a matrix: what is predicted now is what is expected",
      "Examples:\n  mlsysim ci accept predictions.yaml\n  mlsysim ci accept predictions.yaml -j 2 --force",
      [asked] { return ci_accept(*asked); });
  matrix(*a);
  a->add_flag("--force", asked->force, "replace a file that this command has not written");
  history_commands(
      [this, c](const char* name, const char* about, const char* examples, std::function<Answer()> run) {
        return command(*c, name, about, examples, std::move(run));
      },
      render_);
}

}  // namespace mlsysim::cli
