# Tests of the project itself: that headers stand alone, that bad programs are refused with the
# right message, that includes go down, that the single header is fresh, and that a consumer of each
# kind (installed package, subdirectory, pkg-config, single header) builds and runs.

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

# ray_project_test(name label command...)
function(ray_project_test name label)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT ${RAY_TEST_TIMEOUT})
endfunction()

# Every public header compiles alone, and twice; that it does is proved by building this library.
file(GLOB_RECURSE ray_headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include"
     "${PROJECT_SOURCE_DIR}/include/ray/*.hpp")
set(ray_header_sources "")
foreach(header IN LISTS ray_headers)
  string(REGEX REPLACE "[/.]" "_" name "${header}")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include <${header}>\n#include <${header}>\n")
  list(APPEND ray_header_sources "${source}")
endforeach()
add_library(ray_headers_alone OBJECT ${ray_header_sources})
target_compile_options(ray_headers_alone PRIVATE -O0)
target_link_libraries(ray_headers_alone PRIVATE ray::ray ray_developer_warnings)

# Two translation units that include everything and use it link into one program.
add_executable(tests_odr odr/first.cpp odr/second.cpp)
target_link_libraries(tests_odr PRIVATE ray::ray ray_developer_warnings)
ray_project_test(project.odr project tests_odr)

# The code in the guide compiles and runs.
set(ray_guide "${PROJECT_SOURCE_DIR}/docs/guide.md")
add_custom_command(
  OUTPUT guide.cpp
  COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/guide/generate.py" "${ray_guide}"
          "${CMAKE_CURRENT_BINARY_DIR}/guide.cpp"
  DEPENDS guide/generate.py "${ray_guide}")
add_executable(tests_guide guide.cpp)
target_link_libraries(tests_guide PRIVATE ray::ray ray_developer_warnings)
ray_project_test(project.guide project tests_guide)

ray_project_test(
  project.layering project "${Python3_EXECUTABLE}"
  "${CMAKE_CURRENT_SOURCE_DIR}/layering/layering.py" "${PROJECT_SOURCE_DIR}")
ray_project_test(
  project.layering_rules project "${Python3_EXECUTABLE}"
  "${CMAKE_CURRENT_SOURCE_DIR}/layering/layering.py" --self-test)
ray_project_test(project.format project "${PROJECT_SOURCE_DIR}/scripts/format" --check)
set_tests_properties(project.format PROPERTIES SKIP_RETURN_CODE 77)
ray_project_test(
  project.amalgamate project "${Python3_EXECUTABLE}"
  "${CMAKE_CURRENT_SOURCE_DIR}/single_header/amalgamate_test.py")
ray_project_test(
  project.single_header_is_fresh project "${Python3_EXECUTABLE}"
  "${PROJECT_SOURCE_DIR}/scripts/amalgamate.py" --check)
ray_project_test(
  project.versions_agree project "${Python3_EXECUTABLE}"
  "${CMAKE_CURRENT_SOURCE_DIR}/packaging/versions.py" "${PROJECT_SOURCE_DIR}")

# Programs that must not compile, a few a test. The flags are those of a plain consumer.
set(ray_consumer_flags -std=c++20 "-I${PROJECT_SOURCE_DIR}/include")
get_target_property(ray_cereal_directories cereal::cereal INTERFACE_INCLUDE_DIRECTORIES)
foreach(directory IN LISTS ray_cereal_directories)
  if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    list(APPEND ray_consumer_flags -isystem "${directory}")
  endif()
endforeach()
file(GLOB ray_compile_fail_files CONFIGURE_DEPENDS
     "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*.cpp")
list(LENGTH ray_compile_fail_files count)
if(count GREATER 0)
  set(size 4)
  math(EXPR last "${count} - 1")
  foreach(first RANGE 0 ${last} ${size})
    list(SUBLIST ray_compile_fail_files ${first} ${size} group)
    math(EXPR number "${first} / ${size} + 1")
    ray_project_test(
      compile_fail.${number} compile_fail "${Python3_EXECUTABLE}"
      "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/check.py" ${group} -- "${CMAKE_CXX_COMPILER}"
      ${ray_consumer_flags})
  endforeach()
endif()

# Consumers. The installed ones share one installation, made from the library just built.
if(RAY_INSTALL)
  set(ray_consumers_directory "${CMAKE_CURRENT_BINARY_DIR}/consumers")
  set(ray_consumer_command
      "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DCOMPILER=${CMAKE_CXX_COMPILER}"
      "-DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}" "-DGENERATOR=${CMAKE_GENERATOR}"
      "-DPREFIX=${ray_consumers_directory}/prefix" "-DLIBDIR=${CMAKE_INSTALL_LIBDIR}"
      "-DBUILT=${PROJECT_BINARY_DIR}" "-DCEREAL=${ray_cereal_directories}"
      "-DQUEUE=$<TARGET_PROPERTY:ray_concurrentqueue,INTERFACE_INCLUDE_DIRECTORIES>"
      "-DXXHASH=$<TARGET_PROPERTY:ray_xxhash,INTERFACE_INCLUDE_DIRECTORIES>")
  foreach(kind IN ITEMS install installed subdirectory pkgconfig single_header)
    ray_project_test(
      consumer.${kind} consumer ${ray_consumer_command} -DKIND=${kind}
      "-DWORK=${ray_consumers_directory}/${kind}" -P
      "${CMAKE_CURRENT_SOURCE_DIR}/consumers/run.cmake")
    # Two of them compile the whole library, so they begin first.
    set_tests_properties(consumer.${kind} PROPERTIES TIMEOUT 900 COST 100)
  endforeach()
  set_tests_properties(consumer.install PROPERTIES FIXTURES_SETUP installation)
  set_tests_properties(consumer.installed consumer.pkgconfig PROPERTIES FIXTURES_REQUIRED
                                                                        installation)
endif()
