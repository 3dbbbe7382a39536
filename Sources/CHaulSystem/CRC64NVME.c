// CRC-64/NVME, reflected polynomial 0x9A6C9329AC4BC9B5 (NVM Command Set Specification).
#include "CHaulSystem.h"

#include <pthread.h>

#define POLYNOMIAL 0x9A6C9329AC4BC9B5u

static uint64_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
  for (uint64_t i = 0; i < 256; i++) {
    uint64_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = (crc & 1) ? (crc >> 1) ^ POLYNOMIAL : crc >> 1;
    table[0][i] = crc;
  }
  for (int k = 1; k < 8; k++)
    for (int i = 0; i < 256; i++)
      table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 255];
}

uint64_t haul_crc64nvme(uint64_t crc, const void *bytes, size_t length) {
  pthread_once(&once, prepare);
  const uint8_t *p = bytes;
  crc = ~crc;
  for (; length >= 8; length -= 8, p += 8) {
    for (int i = 0; i < 8; i++) crc ^= (uint64_t)p[i] << (8 * i);
    crc = table[7][crc & 255] ^ table[6][(crc >> 8) & 255] ^ table[5][(crc >> 16) & 255] ^
          table[4][(crc >> 24) & 255] ^ table[3][(crc >> 32) & 255] ^
          table[2][(crc >> 40) & 255] ^ table[1][(crc >> 48) & 255] ^ table[0][crc >> 56];
  }
  while (length--) crc = (crc >> 8) ^ table[0][(crc ^ *p++) & 255];
  return ~crc;
}
