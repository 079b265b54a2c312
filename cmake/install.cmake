# cmake --install: libraries and headers with a package config, the program, its manual and completions.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gradlab)
install(TARGETS gradlab_autograd gradlab_gradcheck gradlab_nn gradlab_nn_gradcheck EXPORT gradlabTargets)
install(EXPORT gradlabTargets NAMESPACE gradlab:: DESTINATION ${package_dir})
install(DIRECTORY autograd nn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gradlab
  FILES_MATCHING PATTERN *.h PATTERN ops EXCLUDE)
configure_package_config_file(cmake/gradlabConfig.cmake.in ${PROJECT_BINARY_DIR}/gradlabConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gradlabConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gradlabConfig.cmake ${PROJECT_BINARY_DIR}/gradlabConfigVersion.cmake
  DESTINATION ${package_dir})

if(TARGET gradlab)
  install(TARGETS gradlab)
  # gradlab_install_page(<folder> <file> <argument of gradlab>...): what the program prints about itself.
  function(gradlab_install_page folder file)
    list(JOIN ARGN " " arguments)
    install(CODE "execute_process(COMMAND \"$<TARGET_FILE:gradlab>\" ${arguments}
      OUTPUT_FILE \"${PROJECT_BINARY_DIR}/${file}\" COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES ${PROJECT_BINARY_DIR}/${file} DESTINATION ${folder})
  endfunction()
  gradlab_install_page(${CMAKE_INSTALL_MANDIR}/man1 gradlab.1 man)
  gradlab_install_page(${CMAKE_INSTALL_DATADIR}/bash-completion/completions gradlab.bash completion bash)
  gradlab_install_page(${CMAKE_INSTALL_DATADIR}/zsh/site-functions _gradlab completion zsh)
  gradlab_install_page(${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d gradlab.fish completion fish)
endif()
