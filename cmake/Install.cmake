# What `cmake --install` gives: headers, the libraries (static and shared), the two tools,
# find_package(Shard) and pkg-config files. test/Embedding builds against nothing else.
include(CMakePackageConfigHelpers)
set(shard_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Shard)

set_target_properties(ShardPassesShared PROPERTIES EXPORT_NAME PassesShared)
set(installed ShardReshard ShardPasses ShardPassesShared)
if(TARGET ShardRuntime)
  set_target_properties(ShardRuntimeShared PROPERTIES EXPORT_NAME RuntimeShared)
  list(APPEND installed ShardRuntime ShardRuntimeShared)
endif()
# libMLIR may lie outside the loader's path; CMake would drop the path on installation.
set_target_properties(ShardPassesShared ${shard_tools} PROPERTIES INSTALL_RPATH_USE_LINK_PATH TRUE)

install(TARGETS ${installed} EXPORT ShardTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${shard_tools} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/shard DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES python-free-docs/cluster.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/shard)
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(EXISTS ${PROJECT_SOURCE_DIR}/share/shard)
  install(DIRECTORY share/shard DESTINATION ${CMAKE_INSTALL_DATADIR})
endif()

install(EXPORT ShardTargets NAMESPACE Shard:: DESTINATION ${shard_cmake_dir})
configure_package_config_file(cmake/ShardConfig.cmake.in ShardConfig.cmake
                              INSTALL_DESTINATION ${shard_cmake_dir})
# Before 1.0 any minor version may change what callers see.
write_basic_package_version_file(ShardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ShardConfig.cmake ${PROJECT_BINARY_DIR}/ShardConfigVersion.cmake
              cmake/FindMLIR22.cmake
        DESTINATION ${shard_cmake_dir})

# pkg-config. Paths are relative to the file, so that the tree can be moved.
file(RELATIVE_PATH SHARD_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(SHARD_PC_CAPI "")
foreach(archive ${capi_archives})
  get_filename_component(name ${archive} NAME)
  string(APPEND SHARD_PC_CAPI " -l:${name}")
endforeach()
foreach(name shard-runtime shard-passes)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
