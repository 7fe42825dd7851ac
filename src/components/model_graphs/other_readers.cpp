// Readers that others bring, by the ending of a path.

#include <mlsysim/model_graphs/model_path.hpp>

#include "detail/builder.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <memory>
#include <mutex>

namespace mlsysim {
namespace {

using Readers = std::vector<OtherReader>;

std::mutex& guard() {
  static std::mutex mutex;
  return mutex;
}
/// It never dies: a host of plugins that is static withdraws its readers at the end of the program.
std::shared_ptr<const Readers>& published() {
  static auto& readers = *new std::shared_ptr<const Readers>(std::make_shared<const Readers>());
  return readers;
}
std::shared_ptr<const Readers> present() {
  const std::lock_guard lock(guard());
  return published();
}

}  // namespace

void publish_readers(std::vector<OtherReader> readers) {
  auto next = std::make_shared<const Readers>(std::move(readers));
  const std::lock_guard lock(guard());
  // The former readers are destroyed after the lock is released: their destructors may run plugin code.
  published().swap(next);
}

bool has_other_reader(std::string_view path) {
  for (const auto& r : *present())
    if (path.ends_with(r.ending)) return true;
  return false;
}

ModelFile read_by_other(const std::string& path) {
  const auto readers = present();
  for (const auto& r : *readers) {
    if (!path.ends_with(r.ending)) continue;
    const auto text = r.read(path, files::read(path, fmt::format("a file for {}", r.name)));
    const Zoo zoo = load_text(text, path, standard_zoo());
    const auto& w = zoo.only<Workload>();
    return {.workload = w, .entry = *w.entry, .notes = {fmt::format("read by {}", r.name)}};
  }
  throw InputError("mlsysim.programs.029", "no reader takes files of this ending", path, path,
                   "a file that a plugin reads", "mlsysim plugin list shows who reads what", {path});
}

}  // namespace mlsysim
