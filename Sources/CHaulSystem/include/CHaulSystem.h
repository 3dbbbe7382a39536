// What Swift's Glibc module does not show, and CRC32C by instruction.
// Every call returns as the system call does: -1 with errno set when it fails.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// CRC32C (Castagnoli) of `length` bytes, continuing from `crc` (0 to begin). Uses the processor's
/// instruction where there is one.
uint32_t haul_crc32c(uint32_t crc, const void *bytes, size_t length);
/// The same by table, on any processor.
uint32_t haul_crc32c_portable(uint32_t crc, const void *bytes, size_t length);
/// Whether `haul_crc32c` uses an instruction here.
int haul_crc32c_is_accelerated(void);

#if defined(__linux__)
/// `openat` (variadic in C, so not importable); always with O_NOFOLLOW, O_CLOEXEC and O_NONBLOCK.
int haul_openat(int directory, const char *name, int flags, unsigned int mode);
/// `fallocate` of [0, size), with the size of the file raised.
int haul_fallocate(int file, int64_t size);
/// `sync_file_range` with SYNC_FILE_RANGE_WRITE: starts write-back and does not wait.
int haul_start_writeback(int file, int64_t offset, int64_t length);
/// `renameat2` with RENAME_NOREPLACE inside one directory.
int haul_rename_noreplace(int directory, const char *from, const char *to);
/// The mount that an open file lies on: unique for the boot where the kernel can tell (6.8).
int haul_mount_id(int file, uint64_t *mount);
/// `flock` LOCK_EX | LOCK_NB (the name is a struct's as well).
int haul_try_lock(int file);
#endif
