#define _GNU_SOURCE
#include "CHaulSystem.h"

#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum { GATE = 3, REPORT = 4, OTHERS = 5 };

static void say(int report, int stage, int error) {
  struct haul_report words = {stage, error};
  // If the write fails, there is no other way to report.
  ssize_t written = write(report, &words, sizeof words);
  (void)written;
}

static void fail(int report, int stage, int error) {
  say(report, stage, error);
  _exit(127);
}

static void close_others(void) {
  if (syscall(SYS_close_range, OTHERS, ~0U, 0) == 0) return;
  struct rlimit limit;
  int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (int)limit.rlim_cur
                                                                             : 65536;
  for (int file = OTHERS; file < end; file++) close(file);
}

static void place_descriptors(const struct haul_program *program) {
  int files[OTHERS] = {program->input, program->output, program->errors, program->gate,
                       program->report};
  // First out of the way of each other.
  for (int number = 0; number < OTHERS; number++) {
    files[number] = fcntl(files[number], F_DUPFD, OTHERS);
    if (files[number] == -1) fail(program->report, HAUL_PREPARING, errno);
  }
  for (int number = 0; number < OTHERS; number++) {
    if (dup2(files[number], number) == -1) fail(files[REPORT], HAUL_PREPARING, errno);
  }
  // All others at once: what waits here must not hold another one's gate open, nor a lock.
  close_others();
  fcntl(REPORT, F_SETFD, FD_CLOEXEC);
}

static void become(const struct haul_program *program) {
  // One that must not be run says more than one that is not there.
  int error = ENOENT;
  for (const char *const *path = program->paths; *path; path++) {
    execve(*path, program->arguments, program->environment);
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
      fail(REPORT, HAUL_EXECUTING, errno);
    if (errno == EACCES) error = EACCES;
  }
  fail(REPORT, HAUL_EXECUTING, error);
}

static void run_child(const struct haul_program *program) {
  place_descriptors(program);
  if (setsid() == -1) fail(REPORT, HAUL_PREPARING, errno);
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  haul_restore_core_limit();
  say(REPORT, 0, 0);
  char byte;
  ssize_t count;
  while ((count = read(GATE, &byte, 1)) == -1 && errno == EINTR) {}
  if (count != 1) _exit(0);
  close(GATE);
  if (program->directory && chdir(program->directory) == -1)
    fail(REPORT, HAUL_ENTERING_DIRECTORY, errno);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  become(program);
}

int haul_fork_program(const struct haul_program *program) {
  sigset_t all, before;
  // No handler of this process may run in the other one.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = fork();
  if (pid == 0) run_child(program);
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return pid;
}

int haul_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int haul_pidfd_open(int pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int haul_has_ended(int pid) {
  siginfo_t info;
  info.si_pid = 0;
  if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == -1) return -1;
  return info.si_pid != 0;
}
#endif
