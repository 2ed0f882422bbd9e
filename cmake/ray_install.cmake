# Install rules: headers, library, the CMake package `ray` and the pkg-config file `ray.pc`.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(ray_cmake_directory "${CMAKE_INSTALL_LIBDIR}/cmake/ray")

install(
  TARGETS ray
  EXPORT ray-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/ray"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# Our headers include cereal's: a downloaded cereal goes along, since the system has none.
if(ray_fetched_cereal)
  install(DIRECTORY "${ray_fetched_cereal}/include/cereal"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(FILES "${ray_fetched_cereal}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
          RENAME LICENSE-cereal)
endif()

install(EXPORT ray-targets NAMESPACE ray:: DESTINATION "${ray_cmake_directory}")
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/ray-config.cmake.in" "${PROJECT_BINARY_DIR}/ray-config.cmake"
  INSTALL_DESTINATION "${ray_cmake_directory}")
# Before 1.0 a new minor version may change the API.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ray-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ray-config.cmake"
              "${PROJECT_BINARY_DIR}/ray-config-version.cmake"
        DESTINATION "${ray_cmake_directory}")

# pkg-config: the paths are relative to the file, so that the installed tree may be moved.
file(RELATIVE_PATH ray_pc_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
set(ray_pc_cflags "-pthread")
get_target_property(ray_cereal_directories cereal::cereal INTERFACE_INCLUDE_DIRECTORIES)
foreach(directory IN LISTS ray_cereal_directories)
  if(NOT ray_fetched_cereal AND NOT directory IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    string(APPEND ray_pc_cflags " -I${directory}")
  endif()
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/ray.pc.in" "${PROJECT_BINARY_DIR}/ray.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/ray.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
