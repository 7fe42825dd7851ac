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
    if (list && (type.form == MemberForm::list || type.form == MemberForm::numbers)) list(path, type, member);
    switch (type.form) {
      case MemberForm::table:
        return table(type.table(), member);
      case MemberForm::slots:
        for (std::size_t i = 0; i < type.choices.size(); ++i)
          below(".", type.choices[i], *type.item, type.at(member, i));
        return;
      case MemberForm::list:
        for (std::size_t i = 0; i < type.count(member); ++i)
          below("[", std::to_string(i), *type.item, type.at(member, i), "]");
        return;
      case MemberForm::numbers:
        for (auto& [key, number] : *static_cast<std::map<std::string, double>*>(member))
          below(".", key, detail::TypeOf<double>::value, &number);
        return;
      default:
        leaf(path, type, member);
    }
  }
};

void visit_own(const TableInfo& table, void* object, const std::string& prefix, const MemberVisit& visit) {
  for (const auto& row : table.rows) {
    const auto path = prefix + std::string(row.name);
    const MemberType& type = *row.type;
    if (type.form == MemberForm::table) {
      visit_own(type.table(), row.in(object), path + ".", visit);
    } else if (type.form == MemberForm::slots) {
      for (std::size_t i = 0; i < type.choices.size(); ++i)
        visit(path + "." + std::string(type.choices[i]), row, *type.item, type.at(row.in(object), i));
    } else if (type.form != MemberForm::list && type.form != MemberForm::numbers) {
      visit(path, row, type, row.in(object));
    }
  }
}

}  // namespace

void for_each_own_member(const TableInfo& table, void* object, const MemberVisit& visit) {
  visit_own(table, object, "", visit);
}

double* number_in(const MemberType& type, void* member) {
  const auto form = type.inner().form;
  if (form != MemberForm::number && form != MemberForm::quantity) return nullptr;
  if (type.form == MemberForm::maybe)
    return type.count(member) > 0 ? static_cast<double*>(type.at(member, 0)) : nullptr;
  return static_cast<double*>(member);
}

void for_each_leaf(const TableInfo& table, void* object, const LeafVisit& leaf, const ListVisit& list) {
  Walk{leaf, list, {}}.table(table, object);
}

void for_each_leaf(const TableInfo& table, const void* object,
                   const std::function<void(std::string_view, const MemberType&, const void*)>& leaf) {
  // The walk is written for objects that it may fill; this visit only reads.
  for_each_leaf(table, const_cast<void*>(object), LeafVisit(leaf));
}

}  // namespace mlsysim
