#pragma once
// What the tests of the room share: the source zoo, a folder of their own, a small base zoo.

#include <mlsysim/zoo/loader.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace zoo_test {

namespace fs = std::filesystem;

inline fs::path source_zoo() { return fs::path(MLSYSIM_SOURCE_DIR) / "zoo"; }

inline mlsysim::LoadOptions source_options() {
  return {.directory = source_zoo(),
          .cache = mlsysim::ZooCache::ignore,
          .environment = mlsysim::ZooEnvironment::ignore};
}

/// The shipped zoo, loaded once for all cases.
inline const mlsysim::Zoo& shipped() {
  static const mlsysim::Zoo zoo = mlsysim::load_zoo(source_options());
  return zoo;
}

/// A folder that vanishes with the object.
class Folder {
 public:
  Folder() {
    static int count = 0;
    path_ = fs::temp_directory_path() /
            ("mlsysim-zoo-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }
  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  fs::path path_;
};

inline const std::string kReferences =
    "schema: mlsysim/references@1\nentries:\n- {key: some-datasheet, text: Some datasheet}\n";
inline const std::string kDevice =
    "schema: mlsysim/hardware@1\n"
    "entries:\n"
    "- name: X1\n"
    "  aliases: [X-One]\n"
    "  source: {kind: datasheet, ref: some-datasheet, verified: 2026-03-06}\n"
    "  compute: {dense: {fp16: 100 TFLOP/s}}\n"
    "  memory: {capacity: 80 GB, bandwidth: 2 TB/s}\n";

/// A zoo of one device and one reference, for files of the user to refer to.
inline const mlsysim::Zoo& small_base() {
  static const mlsysim::Zoo zoo = [] {
    const Folder folder;
    folder.write("references.yaml", kReferences);
    folder.write("hardware.yaml", kDevice);
    return mlsysim::load_zoo({.directory = folder.path(), .environment = mlsysim::ZooEnvironment::ignore});
  }();
  return zoo;
}

}  // namespace zoo_test
