/* main.c -- `nputeir`; everything is in tool.c, where tests call it. */
#include "tool.h"

int main(int argc, char **argv) { return tool_main(argc, argv); }
