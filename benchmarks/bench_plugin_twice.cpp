// The plugin of bench_plugin.

#include "bench_plugin_twice.hpp"

#include <mlsysim/plugin/mlsysim_plugin.hpp>

MLSYSIM_PLUGIN(({.name = "bench",
                 .space = "bench",
                 .version = "1.0.0",
                 .threads = MLS_THREAD_SAFE,
                 .flags = MLS_PLUGIN_UNLOADABLE})) {
  plugin.add<mlsysim::bench::Twice>();
}
