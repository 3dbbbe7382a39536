#include "CRC32CFold.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define POLYNOMIAL 0x82F63B78u
#define WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.2")))

// Multipliers that move 128 bits over a distance, one for each half of them.
struct distance { uint64_t first, second; };
static struct distance over256, over192, over128, over64, over48, over32, over16;

// x^n modulo the polynomial, lowest power in the highest bit.
static uint64_t power(unsigned n) {
  uint32_t r = 0x80000000u;
  while (n--) r = (r & 1) ? (r >> 1) ^ POLYNOMIAL : r >> 1;
  return r;
}

// A carry-less product of reflected values comes out one place too low, and a multiplier of 32 bits
// stands 32 places too high: 33 places in all. The first eight bytes are 64 places further up.
static struct distance over(unsigned bytes) {
  return (struct distance){power(8 * bytes + 64 - 33), power(8 * bytes - 33)};
}

int haul_crc32c_fold_prepare(void) {
  over256 = over(256), over192 = over(192), over128 = over(128), over64 = over(64);
  over48 = over(48), over32 = over(32), over16 = over(16);
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq") &&
         __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2");
}

WIDE static inline __m512i moved(__m512i value, struct distance by, __m512i onto) {
  __m512i k = _mm512_broadcast_i32x4(_mm_set_epi64x((int64_t)by.second, (int64_t)by.first));
  __m512i first = _mm512_clmulepi64_epi128(value, k, 0x00);
  __m512i second = _mm512_clmulepi64_epi128(value, k, 0x11);
  return _mm512_ternarylogic_epi64(first, second, onto, 0x96); // of all three: exclusive or
}

WIDE static inline __m128i moved128(__m128i value, struct distance by, __m128i onto) {
  __m128i k = _mm_set_epi64x((int64_t)by.second, (int64_t)by.first);
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(value, k, 0x00),
                                     _mm_clmulepi64_si128(value, k, 0x11)), onto);
}

WIDE uint32_t haul_crc32c_fold(uint32_t reg, const uint8_t *p, size_t length) {
  // The register goes onto the first four bytes.
  __m512i a = _mm512_xor_si512(_mm512_loadu_si512(p),
                               _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)reg)));
  __m512i b = _mm512_loadu_si512(p + 64);
  __m512i c = _mm512_loadu_si512(p + 128);
  __m512i d = _mm512_loadu_si512(p + 192);
  for (p += 256, length -= 256; length >= 256; p += 256, length -= 256) {
    a = moved(a, over256, _mm512_loadu_si512(p));
    b = moved(b, over256, _mm512_loadu_si512(p + 64));
    c = moved(c, over256, _mm512_loadu_si512(p + 128));
    d = moved(d, over256, _mm512_loadu_si512(p + 192));
  }
  d = moved(a, over192, moved(b, over128, moved(c, over64, d)));
  __m128i last = _mm512_extracti32x4_epi32(d, 3);
  last = moved128(_mm512_extracti32x4_epi32(d, 2), over16, last);
  last = moved128(_mm512_extracti32x4_epi32(d, 1), over32, last);
  last = moved128(_mm512_castsi512_si128(d), over48, last);
  uint64_t crc = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(last));
  return (uint32_t)_mm_crc32_u64(crc, (uint64_t)_mm_extract_epi64(last, 1));
}
#endif
