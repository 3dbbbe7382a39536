// The system's C library, under one name on every platform.
#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Darwin)
  @_exported public import Darwin

  extension stat {
    // As other systems name them.
    package var st_mtim: timespec { st_mtimespec }
    package var st_ctim: timespec { st_ctimespec }
  }
#endif
