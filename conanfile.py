"""The Conan 2 recipe: conan create . --build=missing"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.scm import Version


class RayConan(ConanFile):
    name = "ray"
    description = "Tasks, actors and objects for C++, in one process and on a cluster"
    license = "Apache-2.0"
    topics = ("distributed-computing", "actors", "tasks", "work-stealing", "cluster")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]
    exports_sources = "CMakeLists.txt", "cmake/*", "include/*", "src/*", "LICENSE"

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "CMakeLists.txt"))
        self.version = re.search(r"^\s*VERSION (\d+\.\d+\.\d+)$", text, re.MULTILINE)[1]

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # cereal stands in the public headers; the other two are used by the sources alone, as
        # headers, and a consumer sees nothing of them.
        self.requires("cereal/1.3.2", transitive_headers=True)
        self.requires("concurrentqueue/1.0.4", visible=False)
        self.requires("xxhash/0.8.2", visible=False, libs=False)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("ray runs on Linux")
        minimum = {"gcc": "12", "clang": "16"}.get(str(self.settings.compiler))
        if minimum and Version(self.settings.compiler.version) < minimum:
            raise ConanInvalidConfiguration(f"ray needs {self.settings.compiler} {minimum} or newer")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"RAY_BUILD_{part}"] = False
        toolchain.cache_variables["RAY_DEVELOPER"] = False
        toolchain.cache_variables["RAY_INSTALL"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Conan writes its own package files, and pkg-config files too.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        self.cpp_info.libs = ["ray"]
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("cmake_file_name", "ray")
        self.cpp_info.set_property("cmake_target_name", "ray::ray")
        self.cpp_info.set_property("pkg_config_name", "ray")
