#include <mlsysim/spec/leaves.hpp>

namespace mlsysim {
namespace {

struct Walk {
  const LeafVisit& leaf;
  const ListVisit& list;
  std::string path;

  void table(const TableInfo& info, void* object) {
    for (const auto& row : info.rows) below(path.empty() ? "" : ".", row.name, *row.type, row.in(object));
  }
  void below(std::string_view joint, std::string_view name, const MemberType& type, void* member,
             std::string_view end = "") {
    const auto size = path.size();
    ((path += joint) += name) += end;
    visit(type, member);
    path.resize(size);
  }
  void visit(const MemberType& type, void* member) {
    if (list && (type.form == Form::list || type.form == Form::numbers)) list(path, type, member);
    switch (type.form) {
      case Form::table: return table(type.table(), member);
      case Form::slots:
        for (std::size_t i = 0; i < type.choices.size(); ++i) below(".", type.choices[i], *type.item, type.at(member, i));
        return;
      case Form::list:
        for (std::size_t i = 0; i < type.count(member); ++i)
          below("[", std::to_string(i), *type.item, type.at(member, i), "]");
        return;
      case Form::numbers:
        for (auto& [key, number] : *static_cast<std::map<std::string, double>*>(member))
          below(".", key, detail::TypeOf<double>::value, &number);
        return;
      default: leaf(path, type, member);
    }
  }
};

}  // namespace

void for_each_leaf(const TableInfo& table, void* object, const LeafVisit& leaf, const ListVisit& list) {
  Walk{leaf, list, {}}.table(table, object);
}

void for_each_leaf(const TableInfo& table, const void* object,
                   const std::function<void(std::string_view, const MemberType&, const void*)>& leaf) {
  // The walk is written for objects that it may fill; this visit only reads.
  for_each_leaf(table, const_cast<void*>(object), LeafVisit(leaf));
}

}  // namespace mlsysim
