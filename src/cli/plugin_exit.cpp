// The end of the process, where there are plugins.

#include <mlsysim/plugin/host.hpp>

/// Exported, so that a plugin which calls it is noticed: leaving is no answer.
extern "C" __attribute__((visibility("default"))) void _exit(int status) {
  mlsysim::plugin::end_process(status);
}
