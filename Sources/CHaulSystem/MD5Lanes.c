// MD5 of eight messages at once (RFC 1321). One message leaves most of the processor idle: every
// operation needs the result of the one before.
#include "CHaulSystem.h"

#include <string.h>

typedef uint32_t lanes __attribute__((vector_size(4 * HAUL_MD5_LANES)));

static const uint32_t constants[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

// The processor's widest instructions are chosen when the program starts.
#if defined(__linux__) && defined(__x86_64__)
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LITTLE(x) __builtin_bswap32(x)
#else
#define LITTLE(x) (x)
#endif
#define ROTATED(x, n) ((x) << (n) | (x) >> (32 - (n)))
#define STEP(f, a, b, c, d, word, i, n) \
  a += (f) + words[word] + constants[i], a = ROTATED(a, n) + (b)

#define CHOICE(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
#define SELECT(b, c, d) CHOICE(d, b, c)
#define PARITY(b, c, d) ((b) ^ (c) ^ (d))
#define LAST(b, c, d) ((c) ^ ((b) | ~(d)))

// Four steps, after which each register is back in its place.
#define FOUR(F, i, w0, w1, w2, w3, n0, n1, n2, n3) \
  STEP(F(b, c, d), a, b, c, d, w0, (i), n0); \
  STEP(F(a, b, c), d, a, b, c, w1, (i) + 1, n1); \
  STEP(F(d, a, b), c, d, a, b, w2, (i) + 2, n2); \
  STEP(F(c, d, a), b, c, d, a, w3, (i) + 3, n3)

WIDE void haul_md5_lanes(uint32_t *registers, const uint8_t *const *messages, size_t blocks) {
  lanes a, b, c, d, words[16];
  memcpy(&a, registers, sizeof a);
  memcpy(&b, registers + HAUL_MD5_LANES, sizeof b);
  memcpy(&c, registers + 2 * HAUL_MD5_LANES, sizeof c);
  memcpy(&d, registers + 3 * HAUL_MD5_LANES, sizeof d);
  for (size_t block = 0; block < blocks; block++) {
    for (int word = 0; word < 16; word++)
      for (int lane = 0; lane < HAUL_MD5_LANES; lane++) {
        uint32_t value;
        memcpy(&value, messages[lane] + 64 * block + 4 * word, 4);
        words[word][lane] = LITTLE(value);
      }
    lanes a0 = a, b0 = b, c0 = c, d0 = d;
    FOUR(CHOICE, 0, 0, 1, 2, 3, 7, 12, 17, 22);
    FOUR(CHOICE, 4, 4, 5, 6, 7, 7, 12, 17, 22);
    FOUR(CHOICE, 8, 8, 9, 10, 11, 7, 12, 17, 22);
    FOUR(CHOICE, 12, 12, 13, 14, 15, 7, 12, 17, 22);
    FOUR(SELECT, 16, 1, 6, 11, 0, 5, 9, 14, 20);
    FOUR(SELECT, 20, 5, 10, 15, 4, 5, 9, 14, 20);
    FOUR(SELECT, 24, 9, 14, 3, 8, 5, 9, 14, 20);
    FOUR(SELECT, 28, 13, 2, 7, 12, 5, 9, 14, 20);
    FOUR(PARITY, 32, 5, 8, 11, 14, 4, 11, 16, 23);
    FOUR(PARITY, 36, 1, 4, 7, 10, 4, 11, 16, 23);
    FOUR(PARITY, 40, 13, 0, 3, 6, 4, 11, 16, 23);
    FOUR(PARITY, 44, 9, 12, 15, 2, 4, 11, 16, 23);
    FOUR(LAST, 48, 0, 7, 14, 5, 6, 10, 15, 21);
    FOUR(LAST, 52, 12, 3, 10, 1, 6, 10, 15, 21);
    FOUR(LAST, 56, 8, 15, 6, 13, 6, 10, 15, 21);
    FOUR(LAST, 60, 4, 11, 2, 9, 6, 10, 15, 21);
    a += a0, b += b0, c += c0, d += d0;
  }
  memcpy(registers, &a, sizeof a);
  memcpy(registers + HAUL_MD5_LANES, &b, sizeof b);
  memcpy(registers + 2 * HAUL_MD5_LANES, &c, sizeof c);
  memcpy(registers + 3 * HAUL_MD5_LANES, &d, sizeof d);
}
