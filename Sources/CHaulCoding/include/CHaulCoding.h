// Content codings (RFC 9110, section 8.4.1), undone by zlib and libbrotlidec.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum haul_coding { HAUL_GZIP, HAUL_DEFLATE, HAUL_BROTLI };

enum haul_decoded {
  /// All input was read, and more is needed.
  HAUL_WANTS_INPUT,
  /// The output is full.
  HAUL_WANTS_OUTPUT,
  /// The coded stream has ended; input after that was not read.
  HAUL_ENDED,
  /// The input is no such stream.
  HAUL_DAMAGED,
  HAUL_NO_MEMORY
};

typedef struct haul_decoder haul_decoder;

/// Whether libbrotlidec is on this machine: it is loaded when it is first asked for, as most programs never need it.
int haul_has_brotli(void);
/// NULL when there is no memory, or no library for the coding.
haul_decoder *haul_decoder_make(enum haul_coding coding);
void haul_decoder_free(haul_decoder *decoder);
/// Reads from the input and writes to the output, and moves both on.
enum haul_decoded haul_decode(
  haul_decoder *decoder, const uint8_t **input, size_t *input_length, uint8_t **output,
  size_t *output_length);
