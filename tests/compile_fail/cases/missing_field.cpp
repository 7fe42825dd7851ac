// expect: fail
// expect-match: static assertion failed: the field table does not list every member
// mistake: Forgetting a member in the field table
// fix: Name every member in the table: `rows(field(&Inputs::weights, ...), field(&Inputs::host, ...))`.
#include <mlsysim/reflect/field.hpp>
using namespace mlsysim;

struct Inputs {
  Data<> weights;
  Bandwidth<> host;
  static constexpr auto fields() {
    return rows(field(&Inputs::weights, "weights", "GB", "data that must be moved"));
  }
};
static_assert(table_is_complete<Inputs>());
