#pragma once
// What the tests of the plugin host share: places of plugins, hosts that look nowhere else, pipelines of one
// resolver.

#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/plugin/host.hpp>
#include <mlsysim/resolver_api/registry.hpp>

#include <unistd.h>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

inline const std::string kBuild = MLSYSIM_BINARY_DIR;
inline const std::string kBad = kBuild + "/tests/plugin/bad/mlsysim-plugin-";
inline const std::string kProbe = kBuild + "/tests/plugin/probe/mlsysim-plugin-probe";
inline const std::string kHello = kBuild + "/plugins/hello_c/mlsysim-plugin-hello-c.so";

/// Looks nowhere but where it is told.
inline mlsysim::plugin::HostOptions closed(
    std::vector<std::filesystem::path> paths,
    mlsysim::plugin::Isolation isolation = mlsysim::plugin::Isolation::never) {
  using mlsysim::plugin::Look;
  return {.paths = std::move(paths),
          .environment = Look::no,
          .user = Look::no,
          .install = Look::no,
          .allowed = "all",
          .isolation = isolation};
}

inline double number(const mlsysim::Run& run, const char* key) {
  return std::get<double>(run.value(key).value);
}

template <class... Given> mlsysim::Pipeline pipeline_of(const char* resolver, Given... given) {
  mlsysim::PipelineBuilder b;
  b.registry(mlsysim::ResolverRegistry::standard()).stage(resolver, "s");
  (b.given(given), ...);
  return b.build();
}

/// A folder that vanishes with the test.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mlsysim-plugins-" + std::to_string(::getpid()));
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  /// A new file under the name of the old one, as an installation does it.
  void put(const std::string& from) const {
    std::filesystem::copy(from, path / "new", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(path / "new", path / "mlsysim-plugin-probe.so");
  }
};
