# ray_add_programs(kind): one executable for each *.cpp of the current directory, named after the
# file, from the target KIND_NAME; the names go into the global property ray_programs_KIND. A line
# `// links: TARGET...` at the top of a file names what it needs beside ray; a program whose needs
# are not installed is left out with a message, never an error.

function(ray_add_programs kind)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    # What a file links is read when configuring, so a change of the file must configure again.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(STRINGS "${source}" lines REGEX "^// links:" LIMIT_INPUT 2000)
    set(libraries "")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^// links:" "" line "${line}")
      string(REGEX MATCHALL "[A-Za-z0-9_:]+" words "${line}")
      list(APPEND libraries ${words})
    endforeach()

    set(missing "")
    foreach(library IN LISTS libraries)
      ray_find_library_target(${library})
      if(NOT TARGET ${library})
        list(APPEND missing ${library})
      endif()
    endforeach()
    if(missing)
      message(STATUS "ray: ${kind}_${name} is left out; not installed: ${missing}")
      continue()
    endif()

    set_property(GLOBAL APPEND PROPERTY ray_programs_${kind} ${name})
    add_executable(${kind}_${name} "${source}")
    set_target_properties(${kind}_${name} PROPERTIES OUTPUT_NAME ${name} CXX_EXTENSIONS OFF)
    target_link_libraries(${kind}_${name} PRIVATE ray::ray ${libraries} ray_developer_warnings)
  endforeach()
endfunction()

# Makes the imported target that a `// links:` line names, if what it stands for is installed.
macro(ray_find_library_target library)
  if(NOT TARGET ${library})
    if("${library}" MATCHES "^TBB::")
      find_package(TBB CONFIG QUIET GLOBAL)
    elseif("${library}" MATCHES "^OpenSSL::")
      find_package(OpenSSL QUIET GLOBAL)
    elseif("${library}" MATCHES "^CAF::")
      # Debian's CAF comes without a package file.
      string(REGEX REPLACE "^CAF::" "" ray_caf_part "${library}")
      find_library(RAY_CAF_${ray_caf_part}_LIBRARY caf_${ray_caf_part})
      find_path(RAY_CAF_INCLUDE_DIR caf/all.hpp)
      mark_as_advanced(RAY_CAF_${ray_caf_part}_LIBRARY RAY_CAF_INCLUDE_DIR)
      if(RAY_CAF_${ray_caf_part}_LIBRARY AND RAY_CAF_INCLUDE_DIR)
        add_library(${library} UNKNOWN IMPORTED GLOBAL)
        set_target_properties(
          ${library} PROPERTIES IMPORTED_LOCATION "${RAY_CAF_${ray_caf_part}_LIBRARY}"
                                INTERFACE_INCLUDE_DIRECTORIES "${RAY_CAF_INCLUDE_DIR}")
      endif()
    endif()
  endif()
endmacro()
