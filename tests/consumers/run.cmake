# Builds and runs one kind of consumer from nothing, in WORK; `install` makes the installation that
# some of them use. Run by ctest as cmake -DKIND=... -P run.cmake; see ../project.cmake.

set(here "${CMAKE_CURRENT_LIST_DIR}")

function(run)
  list(JOIN ARGN " " text)
  message(STATUS "${text}")
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORK}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Compiles one source file as a user would by hand, with every warning on.
function(compile source object)
  run(${LAUNCHER} "${COMPILER}" -std=c++20 -O1 -Wall -Wextra -Wpedantic -Wconversion -Werror ${ARGN}
      -c "${source}" -o "${object}")
endfunction()

# Builds the CMake project of this kind with the given options, and runs it.
function(build_project)
  run("${CMAKE_COMMAND}" -S "${here}/${KIND}" -B build -G "${GENERATOR}" --fresh
      "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
      -DCMAKE_BUILD_TYPE=Release ${ARGN})
  run("${CMAKE_COMMAND}" --build build)
  run("${WORK}/build/consumer")
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

if(KIND STREQUAL "install")
  file(REMOVE_RECURSE "${PREFIX}")
  run("${CMAKE_COMMAND}" --install "${BUILT}" --prefix "${PREFIX}")

elseif(KIND STREQUAL "installed")
  build_project("-DCMAKE_PREFIX_PATH=${PREFIX}")

elseif(KIND STREQUAL "subdirectory")
  build_project("-DRAY_DIRECTORY=${SOURCE}")

elseif(KIND STREQUAL "pkgconfig")
  find_program(pkg_config NAMES pkg-config pkgconf REQUIRED)
  set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
  execute_process(COMMAND "${pkg_config}" --cflags ray OUTPUT_VARIABLE cflags
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${pkg_config}" --static --libs ray OUTPUT_VARIABLE libraries
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(cflags UNIX_COMMAND "${cflags}")
  separate_arguments(libraries UNIX_COMMAND "${libraries}")
  compile("${here}/main.cpp" main.o ${cflags})
  compile("${here}/other.cpp" other.o ${cflags})
  run("${COMPILER}" main.o other.o ${libraries} -o consumer)
  run("${WORK}/consumer")

elseif(KIND STREQUAL "single_header")
  file(WRITE "${WORK}/implementation.cpp" "#define RAY_IMPLEMENTATION\n#include <ray/ray.hpp>\n")
  set(flags "-I${SOURCE}/single_include" -pthread)
  foreach(directory IN LISTS CEREAL QUEUE XXHASH)
    list(APPEND flags -idirafter "${directory}")
  endforeach()
  compile("${WORK}/implementation.cpp" implementation.o ${flags})
  compile("${here}/main.cpp" main.o ${flags})
  compile("${here}/other.cpp" other.o ${flags})
  run("${COMPILER}" implementation.o main.o other.o -pthread -o consumer)
  run("${WORK}/consumer")

else()
  message(FATAL_ERROR "unknown kind of consumer '${KIND}'")
endif()
