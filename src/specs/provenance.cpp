#include <mlsysim/specs/provenance.hpp>

#include <algorithm>

namespace mlsysim {

const Figure* Entry::figure(std::string_view path) const {
  const auto it = std::lower_bound(figures.begin(), figures.end(), path,
                                   [](const Figure& f, std::string_view p) { return f.path < p; });
  return it != figures.end() && it->path == path ? &*it : nullptr;
}

const Source& Entry::source_of(std::string_view path) const {
  const Figure* f = figure(path);
  if (f != nullptr && f->own) return *f->own;
  if (shape_source && is_size_of_model(path)) return *shape_source;
  return source;
}

bool is_size_of_model(std::string_view path) {
  return path.starts_with("stacks[") || path.starts_with("outline.");
}

}  // namespace mlsysim
