#include "CHaulSystem.h"

#include <sys/resource.h>

// On Linux, 1 also forbids a dump to a program (a pipe in core_pattern), which 0 does not.
#if defined(__linux__)
enum { NO_DUMP = 1 };
#else
enum { NO_DUMP = 0 };
#endif

static struct rlimit original;
static int is_lowered;

void haul_forbid_core_dumps(void) {
  if (getrlimit(RLIMIT_CORE, &original) != 0) return;
  struct rlimit limit = original;
  if (limit.rlim_max >= NO_DUMP) limit.rlim_cur = NO_DUMP;
  is_lowered = setrlimit(RLIMIT_CORE, &limit) == 0;
}

int haul_restore_core_limit(void) {
  return is_lowered && setrlimit(RLIMIT_CORE, &original) == 0;
}
