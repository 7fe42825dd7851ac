// PNG and PDF by librsvg and cairo. They are opened when the first one is asked for, because linking them
// would cost every call of the program the time to load twenty libraries. Their headers are not needed: the
// few functions that are called, as the libraries have had them since librsvg 2.46 and cairo 1.16, are stated
// here, so that every build draws where librsvg is installed.

#include <mlsysim/plot/render.hpp>

#include <mlsysim/units/error.hpp>

#include <dlfcn.h>

#include <string>

namespace mlsysim {
namespace {

constexpr double kPixels = 2;     // of the image for one of the SVG
constexpr double kPoints = 0.75;  // of a page of PDF for one pixel of the SVG
constexpr int kCreateDate = 5;    // CAIRO_PDF_METADATA_CREATE_DATE
constexpr int kColours = 0;       // CAIRO_FORMAT_ARGB32

constexpr Fault kNotDrawn{.id = "mlsysim.picture.003",
                          .message = "no PNG or PDF can be drawn here",
                          .expected = "librsvg 2.46 or later"};

struct Viewport {  // RsvgRectangle
  double x, y, width, height;
};
using Append = int(void* to, const unsigned char* data, unsigned int length);  // cairo_write_func_t

/// The functions that are called. Objects of the libraries are pointers to something unknown.
struct RsvgCalls {
  void* (*read)(const unsigned char* data, std::size_t size, void** error);
  int (*draw)(void* handle, void* context, const Viewport* viewport, void** error);
  void* (*new_surface)(int format, int width, int height);
  void* (*new_pdf)(Append* append, void* to, double width, double height);
  void (*set_metadata)(void* pdf, int what, const char* text);
  void* (*new_context)(void* surface);
  int (*write_png)(void* surface, Append* append, void* to);
  void (*end_context)(void* context);
  void (*finish)(void* surface);
  void (*end_surface)(void* surface);
  void (*end_handle)(void* handle);
};

/// An opened library, kept open to the end of the program.
void* opened(const char* file) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw SolverError(kNotDrawn.with(
        {.found = "no librsvg on this machine", .hint = "apt-get install librsvg2-2, or ask for svg"}));
  return library;
}

template <class F> void find(F*& function, void* library, const char* name) {
  function = reinterpret_cast<F*>(::dlsym(library, name));
  if (function == nullptr)
    throw SolverError(
        kNotDrawn.with({.found = std::string("a library without ") + name, .hint = "install librsvg2-2"}));
}

RsvgCalls calls() {
  RsvgCalls out{};
  auto* const rsvg = opened("librsvg-2.so.2");
  auto* const cairo = opened("libcairo.so.2");
  auto* const objects = opened("libgobject-2.0.so.0");
  find(out.read, rsvg, "rsvg_handle_new_from_data");
  find(out.draw, rsvg, "rsvg_handle_render_document");
  find(out.new_surface, cairo, "cairo_image_surface_create");
  find(out.new_pdf, cairo, "cairo_pdf_surface_create_for_stream");
  find(out.set_metadata, cairo, "cairo_pdf_surface_set_metadata");
  find(out.new_context, cairo, "cairo_create");
  find(out.write_png, cairo, "cairo_surface_write_to_png_stream");
  find(out.end_context, cairo, "cairo_destroy");
  find(out.finish, cairo, "cairo_surface_finish");
  find(out.end_surface, cairo, "cairo_surface_destroy");
  find(out.end_handle, objects, "g_object_unref");
  return out;
}

int append(void* to, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), length);
  return 0;  // CAIRO_STATUS_SUCCESS
}

double attribute_of(const std::string& svg, std::string_view name) {
  return std::stod(svg.substr(svg.find(name) + name.size(), 12));
}

}  // namespace

std::string drawn_by_librsvg(const Picture& picture, PictureForm form) {
  const bool pdf = form == PictureForm::pdf;
  const auto svg = to_svg(picture);
  static const RsvgCalls call = calls();
  auto* handle = call.read(reinterpret_cast<const unsigned char*>(svg.data()), svg.size(), nullptr);
  if (handle == nullptr)
    throw SolverError(kNotDrawn.with({.found = "an SVG that librsvg does not read", .hint = "ask for svg"}));
  const double scale = pdf ? kPoints : kPixels;
  const Viewport page{0, 0, attribute_of(svg, "width=\"") * scale, attribute_of(svg, "height=\"") * scale};
  std::string out;
  auto* surface =
      pdf ? call.new_pdf(append, &out, page.width, page.height)
          : call.new_surface(kColours, static_cast<int>(page.width), static_cast<int>(page.height));
  if (pdf) call.set_metadata(surface, kCreateDate, "");  // the same picture gives the same bytes
  auto* context = call.new_context(surface);
  const bool drawn =
      call.draw(handle, context, &page, nullptr) != 0 && (pdf || call.write_png(surface, append, &out) == 0);
  call.end_context(context);
  call.finish(surface);  // writes the PDF
  call.end_surface(surface);
  call.end_handle(handle);
  if (!drawn)
    throw SolverError(kNotDrawn.with({.found = "an SVG that librsvg does not draw", .hint = "ask for svg"}));
  return out;
}

}  // namespace mlsysim
