#include <mlsysim/plot/render.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include "detail/json.hpp"

namespace mlsysim {
namespace {

/// Every table under the name of the picture, as `render` of a table writes it.
std::string tables_of(const Picture& p) {
  detail::PictureJson out{{"schema", "mlsysim/picture@1"},         {"kind", p.kind},       {"title", p.title},
                          {"description", p.description},          {"sources", p.sources}, {"notes", p.notes},
                          {"tables", detail::PictureJson::array()}};
  for (const auto& mark : p.marks)
    out["tables"].push_back(detail::PictureJson::parse(render(mark.data, {.format = OutputFormat::json})));
  return detail::json_document(out);
}

}  // namespace

std::string render(const Picture& picture, PictureForm form, std::size_t width) {
  switch (form) {
    case PictureForm::text:
      return to_text(picture, width);
    case PictureForm::svg:
      return to_svg(picture);
    case PictureForm::png:
    case PictureForm::pdf:
      return drawn_by_librsvg(picture, form);
    case PictureForm::html:
      return to_html(picture);
    case PictureForm::vega:
      return to_vega(picture);
    case PictureForm::json:
      check(picture);
      return tables_of(picture);
    case PictureForm::csv:
      break;
  }
  check(picture);
  return render(picture.marks.front().data, {.format = OutputFormat::csv});
}

}  // namespace mlsysim
