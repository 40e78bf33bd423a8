# Finds MLIR 22.1.x and defines `shard_mlir`: C API archives, libMLIR.so, libLLVM.so.
# MLIR_DIR (or CMAKE_PREFIX_PATH) wins; else Debian's place is tried. Only the version file is read:
# MLIRTargets.cmake names every tool and archive of LLVM and takes seconds to load.
set(SHARD_LLVM_WANTED "22.1")
find_path(SHARD_MLIR_CMAKE_DIR MLIRConfig.cmake
          HINTS ${MLIR_DIR} ENV MLIR_DIR
          PATHS /usr/lib/llvm-22/lib/cmake/mlir
          PATH_SUFFIXES lib/cmake/mlir cmake/mlir)
if(NOT SHARD_MLIR_CMAKE_DIR)
  message(FATAL_ERROR "MLIR ${SHARD_LLVM_WANTED}.x was not found. On Debian 12 (bookworm-security): "
    "apt-get install libmlir-22-dev mlir-22-tools llvm-22-dev. Elsewhere set "
    "-DMLIR_DIR=PREFIX/lib/cmake/mlir")
endif()
file(STRINGS ${SHARD_MLIR_CMAKE_DIR}/MLIRConfig.cmake version_line
     REGEX "^set\\(LLVM_VERSION [0-9.]+" LIMIT_COUNT 1)
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" SHARD_LLVM_VERSION "${version_line}")
if(NOT SHARD_LLVM_VERSION MATCHES "^22\\.1\\.")
  message(FATAL_ERROR "MLIR in ${SHARD_MLIR_CMAKE_DIR} is version '${SHARD_LLVM_VERSION}'; "
    "this project needs ${SHARD_LLVM_WANTED}.x. Set -DMLIR_DIR=PREFIX/lib/cmake/mlir")
endif()
get_filename_component(SHARD_LLVM_PREFIX ${SHARD_MLIR_CMAKE_DIR}/../../.. REALPATH)
set(MLIR_INCLUDE_DIRS ${SHARD_LLVM_PREFIX}/include)
set(SHARD_LLVM_LIBRARY_DIR ${SHARD_LLVM_PREFIX}/lib)
set(SHARD_LLVM_TOOLS_DIR ${SHARD_LLVM_PREFIX}/bin)

file(GLOB capi_archives ${SHARD_LLVM_LIBRARY_DIR}/libMLIRCAPI*.a)
list(FILTER capi_archives EXCLUDE REGEX "ExecutionEngine")
find_library(SHARD_LIBMLIR MLIR HINTS ${SHARD_LLVM_LIBRARY_DIR} NO_DEFAULT_PATH)
find_library(SHARD_LIBLLVM LLVM HINTS ${SHARD_LLVM_LIBRARY_DIR} NO_DEFAULT_PATH)
if(NOT capi_archives OR NOT SHARD_LIBMLIR OR NOT SHARD_LIBLLVM)
  message(FATAL_ERROR "MLIR ${SHARD_LLVM_VERSION} in ${SHARD_LLVM_PREFIX} lacks libMLIRCAPI*.a, "
    "libMLIR.so or libLLVM.so. On Debian 12: apt-get install libmlir-22-dev llvm-22-dev")
endif()
message(STATUS "MLIR ${SHARD_LLVM_VERSION}: ${SHARD_LLVM_PREFIX}")
add_library(shard_mlir INTERFACE)
target_include_directories(shard_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS})
target_link_libraries(shard_mlir INTERFACE -Wl,--start-group ${capi_archives} -Wl,--end-group
                      ${SHARD_LIBMLIR} ${SHARD_LIBLLVM})
