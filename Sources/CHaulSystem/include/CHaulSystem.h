// What Swift's Glibc module does not show, CRC32C by instruction, and MD5 of several messages.
// Every call returns as the system call does: -1 with errno set when it fails.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// CRC32C (Castagnoli) of `length` bytes, continuing from `crc` (0 to begin). Uses the processor's
/// instruction where there is one.
uint32_t haul_crc32c(uint32_t crc, const void *bytes, size_t length);
/// The same by table, on any processor.
uint32_t haul_crc32c_portable(uint32_t crc, const void *bytes, size_t length);

/// CRC-64/NVME of `length` bytes, continuing from `crc` (0 to begin).
uint64_t haul_crc64nvme(uint64_t crc, const void *bytes, size_t length);

#define HAUL_MD5_LANES 8
/// MD5 of so many messages at once, continuing from `registers`: the first register of every
/// message, then the second of every one, to the fourth. Takes `blocks` times 64 bytes of each.
void haul_md5_lanes(uint32_t *registers, const uint8_t *const *messages, size_t blocks);

#if defined(__linux__)
/// `openat` (variadic in C, so not importable); always with O_NOFOLLOW, O_CLOEXEC and O_NONBLOCK.
int haul_openat(int directory, const char *name, int flags, unsigned int mode);
/// `openat2`, which fails for a path with a link in it, and where the kernel does not have it.
int haul_open_without_links(const char *path, int flags);
/// `fallocate`, with the size of the file raised.
int haul_fallocate(int file, int64_t offset, int64_t length);
/// `fallocate` with FALLOC_FL_PUNCH_HOLE.
int haul_punch_hole(int file, int64_t offset, int64_t length);
/// `sync_file_range` with SYNC_FILE_RANGE_WRITE: starts write-back and does not wait.
int haul_start_writeback(int file, int64_t offset, int64_t length);
/// `renameat2` with RENAME_NOREPLACE inside one directory.
int haul_rename_noreplace(int directory, const char *from, const char *to);
/// `fgetxattr` and `fsetxattr` of the attribute `user.haul`.
long haul_get_attribute(int file, void *value, size_t size);
int haul_set_attribute(int file, const void *value, size_t size);
/// `fgetxattr` of a directory's default ACL.
long haul_get_default_acl(int directory, void *value, size_t size);
/// Gives a file the owner, the group and the ACL of another one.
int haul_take_access(int file, int former);
/// `fcntl` with F_DUPFD_CLOEXEC.
int haul_duplicate(int file);
/// The size of an open file as this machine knows it: no server is asked, no write is waited for.
int64_t haul_size(int file);
/// Has all threads share one heap from now on: each one's own would take 64 MiB of addresses. Before other threads run.
void haul_share_heap(void);
/// The mount that an open file lies on: unique for the boot where the kernel can tell (6.8).
int haul_mount_id(int file, uint64_t *mount);
/// `flock` LOCK_EX | LOCK_NB (the name is a struct's as well).
int haul_try_lock(int file);

/// Forbids core dumps of this process, which would hold credentials. Programs that it starts get the limit of before.
void haul_forbid_core_dumps(void);
/// Sets the limit of before, and returns 1, if it was lowered.
int haul_restore_core_limit(void);

/// Starts a program, which may be in PATH, in a session of its own and in `/`, without the caller's
/// files. It outlives the terminal. Its output goes to the end of the log. Sets the child; returns 0
/// or an error number.
int haul_spawn_daemon(const char *path, const char *log, char *const arguments[],
                      char *const environment[], pid_t *child);
/// The exit status of a child that has ended, or 128 and the signal that ended it; -1 while it runs.
int haul_exit_status(pid_t child);
/// Runs a program of PATH without input or output, and waits for it. Returns its exit status, or -1.
int haul_run_quietly(char *const arguments[], char *const environment[]);

/// A program to be: `fork` is not for Swift, and between it and the program only C may run.
struct haul_program {
  /// Where it may lie, in order; ends with NULL.
  const char *const *paths;
  char *const *arguments;
  char *const *environment;
  /// Where it runs; NULL: here.
  const char *directory;
  /// Its standard descriptors; it gets no other ones.
  int input, output, errors;
  /// From which it reads a byte before it becomes the program; when there is none, it ends.
  int gate;
  /// To which it writes `haul_report`s.
  int report;
};

/// What a process that is to be a program has to say: first that it waits (all 0), then nothing more, or what went wrong.
struct haul_report {
  int32_t stage;
  int32_t error;
};
enum { HAUL_PREPARING = 1, HAUL_ENTERING_DIRECTORY = 2, HAUL_EXECUTING = 3 };

/// `pipe2` with O_CLOEXEC.
int haul_pipe(int ends[2]);
/// Makes the process, which leads a session and a group of its own, with default signals; returns its number.
int haul_fork_program(const struct haul_program *program);
/// `pidfd_open`: readable when the process has ended.
int haul_pidfd_open(int pid);
/// Whether a child has ended, and leaves it as it is; -1 if it is not a child of this process.
int haul_has_ended(int pid);
#endif
