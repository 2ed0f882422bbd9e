# An overlay port: it builds the checkout that it lies in, so it needs no release to point at.
#   vcpkg install ray --overlay-ports=packaging/vcpkg/ports
# In a registry, whose ports lie elsewhere, the first command becomes
#   vcpkg_from_github(OUT_SOURCE_PATH SOURCE_PATH REPO <owner>/<repository> REF "v${VERSION}"
#                     SHA512 <of the release's archive> HEAD_REF main)
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)
if(NOT EXISTS "${SOURCE_PATH}/include/ray")
  message(FATAL_ERROR "${SOURCE_PATH} is no checkout of ray: this port is used as an overlay, from "
                      "packaging/vcpkg/ports of one; see the comment at its top for a registry")
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DRAY_BUILD_TESTS=OFF
    -DRAY_BUILD_EXAMPLES=OFF
    -DRAY_BUILD_BENCHMARKS=OFF
    -DRAY_DEVELOPER=OFF
    -DRAY_INSTALL=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/ray)
vcpkg_fixup_pkgconfig()

# The headers are the same in both configurations.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
# LICENSE belongs where vcpkg looks for it, and there alone.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
