// One program, two translation units that include every public header in opposite order. Names and addresses
// of what the headers define must be the same in both; the link fails on a function that was defined twice.
#include "facts.hpp"

#include <cstdio>

int main() {
  const Facts a = facts_in_order(), b = facts_in_reverse();
  int wrong = 0;
  for (std::size_t i = 0; i < a.names.size(); ++i) {
    if (a.names[i] != b.names[i]) {
      std::printf("one type, two names: %s and %s\n", a.names[i].c_str(), b.names[i].c_str());
      ++wrong;
    }
  }
  if (a.second != b.second) {
    std::printf("unit::s has two addresses\n");
    ++wrong;
  }
  return wrong;
}
