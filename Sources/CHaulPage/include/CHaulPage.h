#ifndef CHAULPAGE_H
#define CHAULPAGE_H

#include <stddef.h>

/// A file of the web page.
typedef struct {
  const char *name;
  const char *type;
  const unsigned char *bytes;
  size_t count;
} haul_page_file;

/// All files of the web page.
const haul_page_file *haul_page_files(size_t *count);

#endif
