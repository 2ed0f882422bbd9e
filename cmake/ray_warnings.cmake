# `ray_developer_warnings`: the warnings that the project's own targets are built with, and that
# stop the build. Empty without RAY_DEVELOPER, so that no newer compiler breaks a consumer's build.

add_library(ray_developer_warnings INTERFACE)
if(RAY_DEVELOPER)
  target_compile_options(ray_developer_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                                                          -Werror)
endif()
