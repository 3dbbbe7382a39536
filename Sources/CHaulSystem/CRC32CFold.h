// CRC32C by folding 256 bytes at a time, where the processor multiplies polynomials in 512 bits.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Shorter stretches are not worth it, and are not taken.
#define HAUL_FOLD_MINIMUM 1024

#if defined(__x86_64__)
/// Whether this processor can; prepares the constants. Called once, before any other.
int haul_crc32c_fold_prepare(void);
/// The register after `length` bytes; a multiple of 256 and at least HAUL_FOLD_MINIMUM of them.
uint32_t haul_crc32c_fold(uint32_t reg, const uint8_t *bytes, size_t length);
#endif
