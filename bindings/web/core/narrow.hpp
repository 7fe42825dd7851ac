#pragma once
// The C++ library without wide characters: nobody here prints or reads them, and their streams and locales
// would be loaded all the same.
#undef _LIBCPP_HAS_WIDE_CHARACTERS
#define _LIBCPP_HAS_WIDE_CHARACTERS 0
