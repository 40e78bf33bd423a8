# cmake -DOUTPUT=FILE.c -P EmbedClusters.cmake FILE.json...: the files as C arrays, by name.
include(${CMAKE_CURRENT_LIST_DIR}/EmbedBytes.cmake)
set(text "// Written by cmake/EmbedClusters.cmake from share/shard/clusters.\n#include \"Cluster.h\"\n")
set(rows "")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  set(file "${CMAKE_ARGV${i}}")
  if(NOT file MATCHES "\\.json$")
    continue()
  endif()
  get_filename_component(name "${file}" NAME_WE)
  string(MAKE_C_IDENTIFIER "preset_${name}" symbol)
  embed_bytes("${file}" ${symbol} text)
  string(APPEND rows "    {\"${name}\", ${symbol}, sizeof(${symbol})},\n")
endforeach()
string(APPEND text "const ShardClusterPreset shardClusterPresets[] = {\n${rows}};\n"
       "const intptr_t shardClusterPresetCount =\n"
       "    sizeof(shardClusterPresets) / sizeof(shardClusterPresets[0]);\n")
file(WRITE "${OUTPUT}" "${text}")
