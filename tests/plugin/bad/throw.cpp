// What C cannot do: an exception across the interface, and a symbol that is shared between copies.
#if defined(BAD_register_throws) || defined(BAD_throws_in_solve)
#include <stdexcept>
extern "C" __attribute__((visibility("hidden"))) void throw_something() {
  throw std::runtime_error("across");
}
#elif defined(BAD_gnu_unique)
template <class T> struct Shared { static int value; };
template <class T> int Shared<T>::value = 1;
template struct __attribute__((visibility("default"))) Shared<int>;
extern "C" __attribute__((visibility("hidden"))) int* keep_it();
int* keep_it() { return &Shared<int>::value; }
#endif
