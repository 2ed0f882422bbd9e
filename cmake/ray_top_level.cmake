# What holds only when ray is the project being built, and never for those who embed it:
# the default build type, the compiler cache, where binaries go, and the sanitizers.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  message(STATUS "ray: no build type was chosen, so this is a Release build")
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

if(RAY_SANITIZE)
  # An error must fail the test, so nothing recovers; frame pointers make the traces readable.
  add_compile_options(-fsanitize=${RAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RAY_SANITIZE})
  if(RAY_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ says at every fence that the thread sanitizer does not model it. It is known: the deque
    # has a variant without fences under this sanitizer, and the queue's headers are not ours.
    add_compile_options(-Wno-tsan)
  endif()
endif()
