// Commands that answer how many, which, and whether a number can be.

#include "cli/program.hpp"

#include "commands_size.hpp"

#include <memory>

namespace mlsysim::cli {

void Program::size_commands() {
  const auto asked = std::make_shared<SizeRequest>();
  const auto limits = [this, asked](CLI::App& app, bool several) {
    demand(app, "MODEL", scenario_.targets,
           several ? "a model of the zoo, or a file of one; then machines, where --on has none"
                   : "a model of the zoo, or a file of one; then the machine, where --on has none");
    values_[offer(app, "--on", asked->on, several ? "machines, separated by commas" : "the machine",
                  several ? "NAME,..." : "NAME")
                ->delimiter(',')]
        .place = Place::machine;
    limit_options(app, [asked](ServiceLimit limit) { asked->limits.push_back(std::move(limit)); });
    offer(app, "--within", asked->within,
          "time in which a training run must end, failures included, e.g. '90 d'", "TIME");
    offer(app, "--price", asked->prices,
          "price of one device and hour, e.g. 'H200=3.2 USD/h'; may be repeated (default: the zoo's market)",
          "MACHINE=PRICE");
    offer(app, "--most-devices", asked->most_devices, "devices that there are at most (default: 65536)", "N");
    offer(app, "--most-replica-devices", asked->most_replica_devices,
          "devices of one replica at most (default: 64)", "N");
    app.add_flag("--disaggregated,!--no-disaggregated", asked->disaggregated,
                 "also plans with workers for prompts of their own");
    offer(app, "--precisions", asked->precisions,
          "formats that are tried, e.g. bf16,fp8; narrower ones than the model's own change its answers "
          "(default: the model's own)",
          "NAME,...")
        ->delimiter(',');
    offer(app, "--measured", asked->measured.against,
          "measurements of your own that the intervals rest on as well: a CSV file, or a table's definition",
          "FILE");
    offer(app, "--measurand", asked->measured.measurand, "what the CSV file measures: token_time, ...",
          "NAME");
    auto* level =
        offer(app, "--interval", asked->level, "share of measurements that the interval holds", "PERCENT")
            ->check(CLI::IsMember({"50", "80", "95"}));
    values_[level].choices = {"50", "80", "95"};
    scenario_options(app, std::nullopt);
    app.preparse_callback([this](std::size_t) { scenario_.takes_longest = true; });
  };
  auto* s = command(
      app_, "size", "Find how many devices serve a request rate or finish a training run",
      "Examples:\n"
      "  mlsysim size DeepSeek_V3 --on H200 --rate 10/s --ttft 'p99 2 s' --itl '30 ms' --seq-len 4096 "
      "--output-tokens 1024\n"
      "  mlsysim size Llama3_70B --on AWS_p5_48xlarge --rate 2/s --e2e '30 s'\n"
      "  mlsysim size Llama3_8B --on H100 --tokens 15T --within '90 d' --batch-size 2048 --seq-len 8192\n"
      "Exit codes: 0 fine, 1 bad input, 2 no plan meets the limits.",
      [this, asked] { return size_question(scenario_, *asked, render_); }, {Place::model, Place::machine});
  limits(*s, false);
  auto* d = command(
      app_, "decide", "Choose a machine: cost with ranges, and what would change the choice",
      "Examples:\n"
      "  mlsysim decide DeepSeek_V3 --on H200,B200,MI355X --rate 10/s --ttft '2 s' --itl '30 ms' --seq-len "
      "4096 "
      "--output-tokens 1024 \\\n    --price 'MI355X=4 USD/h'\n"
      "  mlsysim decide Llama3_70B --on A100,H100,H200 --rate 5/s --ttft 'p99 1 s' -o decision.html\n"
      "-o html, or a file that ends in .html, .md or .pdf, is one page for the person who pays; PDF is "
      "printed "
      "by weasyprint\nor Chromium, where there is one.\n"
      "Exit codes: 0 fine, 1 bad input, 2 no machine does it.",
      [this, asked] {
        asked->output = format_;
        return decide_question(scenario_, *asked, render_);
      },
      {Place::model, Place::machine});
  limits(*d, true);
  offer(*d, "--points", asked->points, "write the kernels to measure next, for mlsysim measure --points",
        "FILE");
  d->add_flag("--force", asked->force, "replace a file that others wrote");
  auto* c = command(
      app_, "claim", "Judge whether a stated number is possible: impossible, heroic, ordinary",
      "Examples:\n  mlsysim claim 'Llama3_70B 8xH100 412 token/s/gpu at itl 20 ms' --seq-len 2048 "
      "--output-tokens 256\n"
      "  mlsysim claim 'DeepSeek_V3 8xH200 1500 token/s at itl 30 ms' --seq-len 4096 --output-tokens 1024\n"
      "Exit codes: 0 it can be, 1 bad input, 2 impossible.",
      [this] { return claim_question(scenario_, render_); });
  demand(*c, "CLAIM", scenario_.targets, "MODEL, machine with its number, rate of tokens, and a limit");
  scenario_options(*c, std::nullopt);
}

}  // namespace mlsysim::cli
