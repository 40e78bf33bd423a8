# cmake -DOUTPUT=FILE.c -DINPUT=FILE.html -P EmbedPage.cmake: the report's page as a C array.
include(${CMAKE_CURRENT_LIST_DIR}/EmbedBytes.cmake)
set(text "// Written by cmake/EmbedPage.cmake from share/shard/report.\n#include \"Report.h\"\n")
embed_bytes("${INPUT}" page text)
string(APPEND text "const char *const shardReportPage = (const char *)page;\n"
       "const size_t shardReportPageBytes = sizeof(page);\n")
file(WRITE "${OUTPUT}" "${text}")
