#include "CHaulCoding.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

// The part of libbrotlidec's interface that is used; it has been the same since version 1.0.
typedef void *(*brotli_make)(void *, void *, void *);
typedef void (*brotli_free)(void *);
typedef int (*brotli_decode)(
  void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
enum { BROTLI_DAMAGED = 0, BROTLI_ENDED = 1, BROTLI_WANTS_INPUT = 2, BROTLI_WANTS_OUTPUT = 3 };

static struct {
  brotli_make make;
  brotli_free free;
  brotli_decode decode;
} brotli;
static pthread_once_t brotli_is_loaded = PTHREAD_ONCE_INIT;

static void load_brotli(void) {
  const char *names[] = {"libbrotlidec.so.1", "libbrotlidec.1.dylib"};
  for (size_t i = 0; i < sizeof names / sizeof *names && !brotli.decode; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    brotli.make = (brotli_make)dlsym(library, "BrotliDecoderCreateInstance");
    brotli.free = (brotli_free)dlsym(library, "BrotliDecoderDestroyInstance");
    brotli.decode = (brotli_decode)dlsym(library, "BrotliDecoderDecompressStream");
    if (!brotli.make || !brotli.free) brotli.decode = NULL;
  }
}

int haul_has_brotli(void) {
  pthread_once(&brotli_is_loaded, load_brotli);
  return brotli.decode != NULL;
}

struct haul_decoder {
  enum haul_coding coding;
  z_stream zlib;
  /// Whether zlib knows the format: of a deflate body only after its first two bytes.
  int is_open;
  uint8_t first[2];
  size_t first_count;
  /// Between two members of a gzip body.
  int is_between;
  int has_ended;
  void *brotli;
};

static int zlib_open(haul_decoder *d, int window_bits) {
  d->is_open = inflateInit2(&d->zlib, window_bits) == Z_OK;
  return d->is_open;
}

haul_decoder *haul_decoder_make(enum haul_coding coding) {
  if (coding == HAUL_BROTLI && !haul_has_brotli()) return NULL;
  haul_decoder *d = calloc(1, sizeof *d);
  if (!d) return NULL;
  d->coding = coding;
  if (coding == HAUL_BROTLI) d->brotli = brotli.make(NULL, NULL, NULL);
  if (coding == HAUL_BROTLI ? d->brotli != NULL : coding == HAUL_DEFLATE || zlib_open(d, 15 + 16))
    return d;
  free(d);
  return NULL;
}

void haul_decoder_free(haul_decoder *d) {
  if (d->is_open) inflateEnd(&d->zlib);
  if (d->brotli) brotli.free(d->brotli);
  free(d);
}

static enum haul_decoded zlib_run(
  haul_decoder *d, const uint8_t **input, size_t *input_length, uint8_t **output,
  size_t *output_length) {
  uInt in = *input_length > UINT_MAX ? UINT_MAX : (uInt)*input_length;
  uInt out = *output_length > UINT_MAX ? UINT_MAX : (uInt)*output_length;
  d->zlib.next_in = (Bytef *)*input;
  d->zlib.avail_in = in;
  d->zlib.next_out = *output;
  d->zlib.avail_out = out;
  int status = inflate(&d->zlib, Z_NO_FLUSH);
  *input += in - d->zlib.avail_in;
  *input_length -= in - d->zlib.avail_in;
  *output += out - d->zlib.avail_out;
  *output_length -= out - d->zlib.avail_out;
  switch (status) {
  case Z_STREAM_END: return HAUL_ENDED;
  case Z_OK:
  case Z_BUF_ERROR: return *output_length == 0 ? HAUL_WANTS_OUTPUT : HAUL_WANTS_INPUT;
  case Z_MEM_ERROR: return HAUL_NO_MEMORY;
  default: return HAUL_DAMAGED;
  }
}

/// A body may have several members, one after the other (RFC 1952, section 2.2).
static enum haul_decoded gzip_run(
  haul_decoder *d, const uint8_t **input, size_t *input_length, uint8_t **output,
  size_t *output_length) {
  for (;;) {
    if (d->is_between) {
      if (*input_length == 0) return HAUL_ENDED;
      if (inflateReset(&d->zlib) != Z_OK) return HAUL_DAMAGED;
      d->is_between = 0;
    }
    enum haul_decoded end = zlib_run(d, input, input_length, output, output_length);
    if (end != HAUL_ENDED) return end;
    d->is_between = 1;
  }
}

/// "deflate" is the zlib format (RFC 9110, section 8.4.1.2), and from many servers deflate without it.
static enum haul_decoded deflate_run(
  haul_decoder *d, const uint8_t **input, size_t *input_length, uint8_t **output,
  size_t *output_length) {
  while (!d->is_open && d->first_count < 2 && *input_length > 0) {
    d->first[d->first_count++] = *(*input)++;
    --*input_length;
  }
  if (!d->is_open) {
    if (d->first_count < 2) return HAUL_WANTS_INPUT;
    int is_zlib = (d->first[0] & 0x0f) == Z_DEFLATED && (d->first[0] << 8 | d->first[1]) % 31 == 0;
    if (!zlib_open(d, is_zlib ? 15 : -15)) return HAUL_NO_MEMORY;
    const uint8_t *first = d->first;
    size_t count = 2;
    enum haul_decoded end = zlib_run(d, &first, &count, output, output_length);
    if (count > 0 || (end != HAUL_WANTS_INPUT && end != HAUL_ENDED)) return HAUL_DAMAGED;
    if (end == HAUL_ENDED) return end;
  }
  return zlib_run(d, input, input_length, output, output_length);
}

static enum haul_decoded brotli_run(
  haul_decoder *d, const uint8_t **input, size_t *input_length, uint8_t **output,
  size_t *output_length) {
  switch (brotli.decode(d->brotli, input_length, input, output_length, output, NULL)) {
  case BROTLI_ENDED: return HAUL_ENDED;
  case BROTLI_WANTS_INPUT: return HAUL_WANTS_INPUT;
  case BROTLI_WANTS_OUTPUT: return HAUL_WANTS_OUTPUT;
  default: return HAUL_DAMAGED;
  }
}

enum haul_decoded haul_decode(
  haul_decoder *d, const uint8_t **input, size_t *input_length, uint8_t **output,
  size_t *output_length) {
  enum haul_decoded end;
  switch (d->coding) {
  case HAUL_GZIP: return gzip_run(d, input, input_length, output, output_length);
  case HAUL_DEFLATE:
    if (d->has_ended) return *input_length > 0 ? HAUL_DAMAGED : HAUL_ENDED;
    end = deflate_run(d, input, input_length, output, output_length);
    break;
  default:
    if (d->has_ended) return *input_length > 0 ? HAUL_DAMAGED : HAUL_ENDED;
    end = brotli_run(d, input, input_length, output, output_length);
  }
  d->has_ended = end == HAUL_ENDED;
  return d->has_ended && *input_length > 0 ? HAUL_DAMAGED : end;
}
