# embed_bytes(FILE SYMBOL OUT): the bytes of a file as the text of a C array named SYMBOL, added to OUT.
function(embed_bytes file symbol out)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "(................................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  set(${out} "${${out}}static const unsigned char ${symbol}[] = {\n${bytes}\n};\n" PARENT_SCOPE)
endfunction()
