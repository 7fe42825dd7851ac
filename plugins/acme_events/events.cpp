// An exporter: stages, breaks and sweeps as rows of a table, in the file that ACME_EVENTS names.
#include <mlsysim/plugin/mlsysim_plugin.hpp>

#include <cstdlib>
#include <fstream>

namespace {

using namespace mlsysim;

/// Appends one row, parted by tabs. The file is open only during this call.
void row(std::string_view kind, MlsString where, MlsString why, double number) {
  const char* file = std::getenv("ACME_EVENTS");
  if (file == nullptr) return;
  std::ofstream out(file, std::ios::app);
  out << kind << '\t' << plugin::sdk::cpp_text(where) << '\t' << plugin::sdk::cpp_text(why) << '\t' << number
      << '\n';
  if (!out.flush())
    throw InputError({.id = "acme.events.001",
                      .message = "the table cannot be written",
                      .key = "ACME_EVENTS",
                      .found = file,
                      .hint = "name a file in a folder that is there"});
}

}  // namespace

MLSYSIM_PLUGIN(({.name = "acme-events",
                 .space = "acme_events",
                 .version = "1.0.0",
                 .summary = "Writes what happens as a table",
                 .license = "Apache-2.0"})) {
  plugin.callback(
      "Table", "Stages, breaks and sweeps as rows of a table",
      [](const MlsEvent& e) {
        if (e.kind == MLS_EVENT_STAGE_END) row("stage", e.stage, e.resolver, e.seconds);
      },
      [](const MlsBreak& e) { row("break", e.stage, e.reason, 1); },
      [](const MlsSweep& e) { row("sweep", e.title, {}, e.done); });
}
