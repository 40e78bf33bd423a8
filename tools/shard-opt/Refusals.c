//===- Refusals.c - The list of refusals in the reference ---------*- C -*-===//
#include "Options.h"

#include "shard/Passes.h"

#include <stdio.h>

// A bar would end the cell.
static void printMessage(const char *text) {
  for (; *text; ++text)
    printf(*text == '|' ? "\\|" : "%c", *text);
}

void shardOptPrintRefusals(void) {
  printf("\n## Refused ops\n\nOps of the dialects that are not taken.\n\n| op | reason | nearest "
         "accepted form |\n|---|---|---|\n");
  for (intptr_t i = 0; i < shardRefusedOpsGetCount(); ++i) {
    ShardRefusal row = shardRefusedOpsGet(i);
    printf("| `%s` | %s | %s |\n", row.text, row.reason, row.nearest);
  }
  printf(
      "\n## Refusals\n\nEvery message for a model or layout that means something and is not "
      "taken; … is what varies.\n\n| message | reason | nearest accepted form |\n|---|---|---|\n");
  intptr_t i = 0;
  for (; i < shardMessagesGetCount() && shardMessagesGet(i).reason; ++i) {
    ShardRefusal row = shardMessagesGet(i);
    printf("| `");
    printMessage(row.text);
    printf("` | %s | %s |\n", row.reason, row.nearest);
  }
  printf("\n## Mistakes\n\nEvery other message of the passes: what was given is wrong, or a fault "
         "of the compiler (\"internal error\").\n\n");
  for (; i < shardMessagesGetCount(); ++i) {
    printf("- `");
    printMessage(shardMessagesGet(i).text);
    printf("`\n");
  }
}
