// CRC32C, reflected polynomial 0x82F63B78 (RFC 3720, appendix B.4).
#include "CHaulSystem.h"
#include "CRC32CFold.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0x82F63B78u
#define LANE 4096 // bytes in each of the three streams of the instruction's path

static uint32_t table[8][256];
static uint32_t lane_shift[4][256]; // advances a register over LANE zero bytes
static int accelerated;
static int folds;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)
#include <nmmintrin.h>
#define HARDWARE __attribute__((target("sse4.2")))
#define STEP64(crc, word) ((uint32_t)_mm_crc32_u64((crc), (word)))
#define STEP8(crc, byte) _mm_crc32_u8((crc), (byte))
static int has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }
#elif defined(__aarch64__)
#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
static int has_instruction(void) { return (getauxval(AT_HWCAP) & (1UL << 7)) != 0; }
#else
static int has_instruction(void) { return 1; } // every Apple processor of 64 bits
#endif
#define HARDWARE __attribute__((target("crc")))
#define STEP64(crc, word) __crc32cd((crc), (word))
#define STEP8(crc, byte) __crc32cb((crc), (byte))
#endif

static uint32_t over_zeros(uint32_t crc, size_t count) {
  while (count--) crc = (crc >> 8) ^ table[0][crc & 255];
  return crc;
}

static void prepare(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = (crc & 1) ? (crc >> 1) ^ POLYNOMIAL : crc >> 1;
    table[0][i] = crc;
  }
  for (int k = 1; k < 8; k++)
    for (int i = 0; i < 256; i++)
      table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 255];
#ifdef HARDWARE
  // The register is linear: 32 single bits give every entry.
  for (int bit = 0; bit < 32; bit++) {
    uint32_t shifted = over_zeros(1u << bit, LANE);
    for (int i = 0; i < 256; i++)
      if (i & (1 << (bit & 7))) lane_shift[bit >> 3][i] ^= shifted;
  }
  accelerated = has_instruction();
#endif
#if defined(__x86_64__)
  folds = haul_crc32c_fold_prepare();
#endif
}

uint32_t haul_crc32c_portable(uint32_t crc, const void *bytes, size_t length) {
  pthread_once(&once, prepare);
  const uint8_t *p = bytes;
  crc = ~crc;
  for (; length >= 8; length -= 8, p += 8) {
    uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                          (uint32_t)p[3] << 24);
    crc = table[7][low & 255] ^ table[6][(low >> 8) & 255] ^ table[5][(low >> 16) & 255] ^
          table[4][low >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
  }
  while (length--) crc = (crc >> 8) ^ table[0][(crc ^ *p++) & 255];
  return ~crc;
}

#ifdef HARDWARE
static inline uint64_t load(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, 8);
  return word;
}

static inline uint32_t over_lane(uint32_t crc) {
  return lane_shift[0][crc & 255] ^ lane_shift[1][(crc >> 8) & 255] ^
         lane_shift[2][(crc >> 16) & 255] ^ lane_shift[3][crc >> 24];
}

// The instruction takes three cycles and can start one each cycle: three streams keep it busy.
HARDWARE static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t length) {
  crc = ~crc;
#if defined(__x86_64__)
  if (folds && length >= HAUL_FOLD_MINIMUM) {
    size_t whole = length & ~(size_t)255;
    crc = haul_crc32c_fold(crc, p, whole);
    p += whole, length -= whole;
  }
#endif
  for (; length >= 3 * LANE; length -= 3 * LANE, p += 3 * LANE) {
    uint32_t second = 0, third = 0;
    for (size_t i = 0; i < LANE; i += 8) {
      crc = STEP64(crc, load(p + i));
      second = STEP64(second, load(p + LANE + i));
      third = STEP64(third, load(p + 2 * LANE + i));
    }
    crc = over_lane(over_lane(crc) ^ second) ^ third;
  }
  for (; length >= 8; length -= 8, p += 8) crc = STEP64(crc, load(p));
  while (length--) crc = STEP8(crc, *p++);
  return ~crc;
}
#endif

uint32_t haul_crc32c(uint32_t crc, const void *bytes, size_t length) {
  pthread_once(&once, prepare);
#ifdef HARDWARE
  if (accelerated) return by_instruction(crc, bytes, length);
#endif
  return haul_crc32c_portable(crc, bytes, length);
}
