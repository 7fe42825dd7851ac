// Part of every program that finds mlsysim with CMake: the zoo of the installation that it was built against.
// Weak, because a program may hold several libraries that use mlsysim.
extern "C" [[gnu::weak]] const char* mlsysim_installed_zoo();
extern "C" const char* mlsysim_installed_zoo() { return MLSYSIM_INSTALLED_ZOO; }
