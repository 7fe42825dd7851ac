#pragma once
// What this plugin does wrong, as MISBEHAVE says it: three words, "<place> <what> <how>". Where nothing
// matches, everything is right. One library for all rows of behaviors.txt.

#include <mlsysim/plugin/mlsysim_plugin.h>

#include <cstdint>
#include <string_view>

namespace misbehave {

struct Row {
  std::string_view place, what, how;
  [[nodiscard]] bool is(std::string_view p, std::string_view w) const { return place == p && what == w; }
};
/// Read once a process: the library is opened anew for every row.
const Row& row();

inline MlsString text(std::string_view s) { return {s.data(), s.size()}; }
/// A text of the tables, or what is wrong with it where the row is "text <member> <how>".
MlsString member(std::string_view name, std::string_view good);
/// A number of the tables, or that of the row "number <member> <value>".
double number(std::string_view name, double good);
/// The same for whole numbers: kinds, flags, counts.
std::int64_t whole(std::string_view name, std::int64_t good);
/// A struct of the tables, or null, or one with a wrong head: "struct <Type> <how>".
template <class T> const T* checked(T& s, std::string_view type) {
  const auto& r = row();
  if (!r.is("struct", type)) return &s;
  if (r.how == "null") return nullptr;
  if (r.how == "empty") s.struct_size = 0;
  if (r.how == "head") s.struct_size = 16;
  if (r.how == "short") s.struct_size -= 8;
  if (r.how == "larger") s.struct_size = 1U << 30;
  if (r.how == "reserved") s.reserved = ~0U;
  return &s;
}

/// What ends, hangs or confuses a process, where the row is "<slot> <what>"; nothing elsewhere.
void act(std::string_view slot);
/// The same, and wrong error objects: for slots that give one.
MlsError* answer(std::string_view slot, const MlsHostApi* host);
/// Wrong uses of the services of the host, where the row is "service <name> <how>".
MlsError* misuse(const MlsHostApi* host, MlsCall* call, const MlsValue* inputs);
/// The services that may only be used inside of register_all.
MlsError* misuse(const MlsHostApi* host, MlsRegistration* registration);

}  // namespace misbehave
