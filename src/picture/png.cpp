// PNG by librsvg and cairo. They are opened when the first PNG is asked for, because linking them would cost
// every call of the program the time to load twenty libraries; their headers check the calls.

#include <mlsysim/picture/render.hpp>

#include <mlsysim/units/error.hpp>

#if defined(MLSYSIM_HAS_RSVG)
#include <dlfcn.h>
#include <librsvg/rsvg.h>

#include <memory>
#endif

namespace mlsysim {
namespace {

[[noreturn]] void refuse(std::string found, std::string hint) {
  throw SolverError({.id = "mlsysim.picture.003",
                     .message = "no PNG can be drawn here",
                     .found = std::move(found),
                     .expected = "librsvg 2.46 or later",
                     .hint = std::move(hint)});
}

#if defined(MLSYSIM_HAS_RSVG)

constexpr double kPixels = 2;  // of the image for one of the SVG

/// A function of an opened library, with the type that its header gives it.
template <class F> F* function(void* library, const char* name) {
  auto* found = reinterpret_cast<F*>(::dlsym(library, name));
  if (found == nullptr) refuse(std::string("a library without ") + name, "install librsvg2-2");
  return found;
}

struct Libraries {
  void* rsvg = ::dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL);
  void* cairo = ::dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
  void* objects = ::dlopen("libgobject-2.0.so.0", RTLD_NOW | RTLD_LOCAL);
};

cairo_status_t append(void* to, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

std::string drawn(const std::string& svg) {
  static const Libraries libs;
  if (libs.rsvg == nullptr || libs.cairo == nullptr || libs.objects == nullptr)
    refuse("no librsvg on this machine", "apt-get install librsvg2-2, or ask for svg");
#define MLSYSIM_OF(library, name) function<decltype(name)>(libs.library, #name)
  auto* handle = MLSYSIM_OF(rsvg, rsvg_handle_new_from_data)(reinterpret_cast<const guint8*>(svg.data()),
                                                             svg.size(), nullptr);
  if (handle == nullptr) refuse("an SVG that librsvg does not read", "ask for svg");
  const auto number = [&](std::string_view attribute) {
    return std::stod(svg.substr(svg.find(attribute) + attribute.size(), 12));
  };
  const double width = number("width=\""), height = number("height=\"");
  auto* surface = MLSYSIM_OF(cairo, cairo_image_surface_create)(
      CAIRO_FORMAT_ARGB32, static_cast<int>(width * kPixels), static_cast<int>(height * kPixels));
  auto* context = MLSYSIM_OF(cairo, cairo_create)(surface);
  const RsvgRectangle page{0, 0, width * kPixels, height * kPixels};
  const bool done = MLSYSIM_OF(rsvg, rsvg_handle_render_document)(handle, context, &page, nullptr) != 0;
  std::string out;
  const bool written = done && MLSYSIM_OF(cairo, cairo_surface_write_to_png_stream)(surface, append, &out) ==
                                   CAIRO_STATUS_SUCCESS;
  MLSYSIM_OF(cairo, cairo_destroy)(context);
  MLSYSIM_OF(cairo, cairo_surface_destroy)(surface);
  MLSYSIM_OF(objects, g_object_unref)(handle);
#undef MLSYSIM_OF
  if (!written) refuse("an SVG that librsvg does not draw", "ask for svg");
  return out;
}

#endif

}  // namespace

std::string to_png(const Picture& picture) {
#if defined(MLSYSIM_HAS_RSVG)
  return drawn(to_svg(picture));
#else
  (void)picture;
  refuse("a build without librsvg", "install librsvg2-dev and build again, or ask for svg");
#endif
}

}  // namespace mlsysim
