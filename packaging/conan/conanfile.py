"""Recipe of Conan 2: `conan create packaging/conan` from a clone.

libmd, the MD5 of PyTorch's logs, is not in ConanCenter: it is taken from the system. The search libraries NLopt and pagmo2 and
sending over HTTP are left out, as they are optional.
"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt


class MlsysimConan(ConanFile):
    name = "mlsysim"
    license = "Apache-2.0"
    description = "Predicts in closed form what a machine-learning workload does on a machine or a fleet"
    topics = ("machine-learning", "performance-model", "roofline")
    package_type = "static-library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"program": [True, False]}
    default_options = {"program": True}

    @property
    def _top(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._top, "include", "mlsysim", "version.hpp"))
        self.version = re.search(r'MLSYSIM_VERSION_TEXT "([^"]+)"', header)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "zoo/*", "examples/course/*"):
            copy(self, pattern, self._top, self.export_sources_folder)

    def requirements(self):
        self.requires("fmt/[>=9 <12]", transitive_headers=True)
        self.requires("yaml-cpp/[>=0.7 <1]")
        self.requires("nlohmann_json/[>=3.9 <4]")
        self.requires("zlib/[>=1.2.11 <2]")
        self.requires("protobuf/[>=3.21 <4]")
        self.requires("minizip/[>=1.2.11 <2]")
        self.requires("eigen/[>=3.4 <4]")
        self.requires("sqlite3/[>=3.24 <4]")
        if self.options.program:
            self.requires("cli11/[>=2.1 <3]")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25 <5]")
        self.tool_requires("protobuf/<host_version>")

    def system_requirements(self):
        Apt(self).install(["libmd-dev"])

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        tool = CMakeToolchain(self)
        for part in ("PYTHON", "PLUGINS", "EXAMPLES", "TESTS", "BENCH"):
            tool.cache_variables[f"MLSYSIM_BUILD_{part}"] = False
        tool.cache_variables["MLSYSIM_BUILD_CLI"] = bool(self.options.program)
        for library in ("NLOPT", "PAGMO", "HTTP"):
            tool.cache_variables[f"MLSYSIM_WITH_{library}"] = "OFF"
        tool.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The installed files of find_package are the interface: targets, the zoo and its place stand there once.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "mlsysim")]
