# What ray is built upon: cereal, which its public headers include, and two header-only libraries
# that stay in its sources. Each is looked for on the system first, as a package or (Debian has none
# for some) as a header, and only then downloaded, at a pinned hash.

include(FetchContent)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# Downloads the pinned release NAME and puts the variable NAME_SOURCE_DIR into the caller. Only its
# headers are used, so its own build files are not run: SOURCE_SUBDIR names a folder without any.
# FOLDER, if given, is the folder its files are put into, so that they are included through it.
macro(ray_fetch name version url sha256 folder)
  message(STATUS "ray: ${name} is not installed here; downloading version ${version}")
  FetchContent_Declare(
    ${name}
    URL "${url}"
    URL_HASH SHA256=${sha256}
    SOURCE_DIR "${FETCHCONTENT_BASE_DIR}/${name}-src/${folder}"
    SOURCE_SUBDIR "no-build-files"
    DOWNLOAD_EXTRACT_TIMESTAMP OFF)
  FetchContent_MakeAvailable(${name})
endmacro()

# An imported target of headers alone; system headers, so that their warnings are not ours.
function(ray_header_target target directory)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${directory}")
endfunction()

# cereal: package on Debian, vcpkg and Conan.
if(NOT TARGET cereal::cereal)
  find_package(cereal 1.3 CONFIG QUIET)
endif()
if(NOT TARGET cereal::cereal)
  find_path(RAY_CEREAL_INCLUDE_DIR cereal/cereal.hpp)
  mark_as_advanced(RAY_CEREAL_INCLUDE_DIR)
  if(RAY_CEREAL_INCLUDE_DIR)
    ray_header_target(cereal::cereal "${RAY_CEREAL_INCLUDE_DIR}")
  else()
    ray_fetch(
      cereal 1.3.2 https://github.com/USCiLab/cereal/archive/refs/tags/v1.3.2.tar.gz
      16a7ad9b31ba5880dac55d62b5d6f243c3ebc8d46a3514149e56b5e7ea81f85f "")
    ray_header_target(cereal::cereal "${cereal_SOURCE_DIR}/include")
    set(ray_fetched_cereal "${cereal_SOURCE_DIR}")
  endif()
endif()

# moodycamel's queue: our sources write <concurrentqueue/concurrentqueue.h>, as Debian and vcpkg
# install it. Its own install rules and Conan put it into a folder `moodycamel`.
find_path(RAY_CONCURRENTQUEUE_INCLUDE_DIR concurrentqueue/concurrentqueue.h)
find_path(RAY_MOODYCAMEL_INCLUDE_DIR moodycamel/concurrentqueue.h PATH_SUFFIXES concurrentqueue)
mark_as_advanced(RAY_CONCURRENTQUEUE_INCLUDE_DIR RAY_MOODYCAMEL_INCLUDE_DIR)
if(RAY_CONCURRENTQUEUE_INCLUDE_DIR)
  ray_header_target(ray_concurrentqueue "${RAY_CONCURRENTQUEUE_INCLUDE_DIR}")
elseif(RAY_MOODYCAMEL_INCLUDE_DIR)
  set(ray_forward "${CMAKE_CURRENT_BINARY_DIR}/forward")
  file(CONFIGURE OUTPUT "${ray_forward}/concurrentqueue/concurrentqueue.h" CONTENT
       "#pragma once\n#include <moodycamel/concurrentqueue.h>\n")
  ray_header_target(ray_concurrentqueue "${ray_forward}")
  target_include_directories(ray_concurrentqueue SYSTEM INTERFACE "${RAY_MOODYCAMEL_INCLUDE_DIR}")
else()
  ray_fetch(
    concurrentqueue 1.0.4
    https://github.com/cameron314/concurrentqueue/archive/refs/tags/v1.0.4.tar.gz
    87fbc9884d60d0d4bf3462c18f4c0ee0a9311d0519341cac7cbd361c885e5281 concurrentqueue)
  ray_header_target(ray_concurrentqueue "${concurrentqueue_SOURCE_DIR}/..")
endif()

# xxHash: its header alone; the one source file that uses it compiles it in.
find_path(RAY_XXHASH_INCLUDE_DIR xxhash.h)
mark_as_advanced(RAY_XXHASH_INCLUDE_DIR)
if(RAY_XXHASH_INCLUDE_DIR)
  ray_header_target(ray_xxhash "${RAY_XXHASH_INCLUDE_DIR}")
else()
  ray_fetch(
    xxhash 0.8.2 https://github.com/Cyan4973/xxHash/archive/refs/tags/v0.8.2.tar.gz
    baee0c6afd4f03165de7a4e67988d16f0f2b257b51d0e3cb91909302a26a79c4 "")
  ray_header_target(ray_xxhash "${xxhash_SOURCE_DIR}")
endif()

# doctest: of the tests alone.
if(RAY_BUILD_TESTS)
  find_path(RAY_DOCTEST_INCLUDE_DIR doctest/doctest.h)
  mark_as_advanced(RAY_DOCTEST_INCLUDE_DIR)
  if(RAY_DOCTEST_INCLUDE_DIR)
    ray_header_target(ray_doctest "${RAY_DOCTEST_INCLUDE_DIR}")
  else()
    ray_fetch(
      doctest 2.4.11 https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz
      632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186 "")
    ray_header_target(ray_doctest "${doctest_SOURCE_DIR}")
  endif()
endif()
