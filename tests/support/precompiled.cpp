// Carries precompiled.hpp.
