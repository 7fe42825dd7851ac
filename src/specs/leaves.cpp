#include <mlsysim/specs/leaves.hpp>

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
    const bool part = type.form == MemberForm::maybe && type.item->form == MemberForm::table;
    if (list && (type.form == MemberForm::list || part)) list(path, type, member);
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
      case MemberForm::maybe:
        if (!part)
          leaf(path, type, member);
        else if (type.count(member) > 0)
          visit(*type.item, type.at(member, 0));
        return;
      default:
        leaf(path, type, member);
    }
  }
};

/// The walk over members; `route` and `path` lead to the object at hand.
struct MemberWalk {
  const MemberVisit& visit;
  std::string path;
  MemberRoute route;

  void table(const TableInfo& info, void* object, std::size_t base) {
    for (const auto& row : info.rows) {
      const auto size = path.size();
      (path += size == 0 ? "" : ".") += row.name;
      member(row, *row.type, row.in(object), base + row.offset);
      path.resize(size);
    }
  }
  void member(const FieldRow& row, const MemberType& type, void* at, std::size_t offset) {
    const bool of_tables = type.item != nullptr && type.item->form == MemberForm::table;
    if (type.form == MemberForm::table) {
      table(type.table(), at, offset);
    } else if (type.form == MemberForm::slots) {
      const auto size = path.size();
      for (std::size_t i = 0; i < type.choices.size(); ++i) {
        (path += ".") += type.choices[i];
        void* slot = type.at(at, i);
        tell(row, *type.item, slot,
             offset + static_cast<std::size_t>(static_cast<std::byte*>(slot) - static_cast<std::byte*>(at)));
        path.resize(size);
      }
    } else if (of_tables) {
      items(type, at, offset);
    } else if (type.form != MemberForm::list) {
      tell(row, type, at, offset);
    }
  }
  /// The tables of a list, or the one that may be there.
  void items(const MemberType& type, void* at, std::size_t offset) {
    const auto size = path.size();
    for (std::size_t i = 0; i < type.count(at); ++i) {
      if (type.form == MemberForm::list) path += "[" + std::to_string(i) + "]";
      route.steps.push_back({offset, &type, i});
      table(type.item->table(), type.at(at, i), 0);
      route.steps.pop_back();
      path.resize(size);
    }
  }
  void tell(const FieldRow& row, const MemberType& type, void* at, std::size_t offset) {
    route.offset = offset;
    visit({path, row, type, at, route});
  }
};

}  // namespace

void* MemberRoute::in(void* object) const {
  auto* at = static_cast<std::byte*>(object);
  for (const Step& s : steps) at = static_cast<std::byte*>(s.type->at(at + s.offset, s.index));
  return at + offset;
}

void for_each_member(const TableInfo& table, void* object, const MemberVisit& visit) {
  MemberWalk{visit, {}, {}}.table(table, object, 0);
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
