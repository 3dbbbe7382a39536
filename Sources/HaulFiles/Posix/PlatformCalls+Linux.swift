import HaulCore

#if canImport(Glibc)
  import CHaulSystem
  import Glibc

  /// Calls that only Linux has. A port rewrites this file.
  enum PlatformCalls {
    /// `UTIME_OMIT`, a macro that Swift cannot import.
    static let keepTime = (1 << 30) - 2

    static func openRelative(_ directory: Int32, _ name: String, _ flags: Int32, _ mode: UInt32)
      -> Int32
    {
      haul_openat(directory, name, flags, mode)
    }

    /// Fails for a path with a link in it, and on an older kernel.
    static func openWithoutLinks(_ path: String, _ flags: Int32) -> Int32 {
      haul_open_without_links(path, flags)
    }

    static func allocate(_ file: Int32, _ range: Range<Int64>) -> Int32 {
      haul_fallocate(file, range.lowerBound, range.upperBound - range.lowerBound)
    }

    static func deallocate(_ file: Int32, _ range: Range<Int64>) -> Int32 {
      haul_punch_hole(file, range.lowerBound, range.upperBound - range.lowerBound)
    }

    static func startReading(_ file: Int32, _ range: Range<Int64>) {
      // Only a hint: a read reads the rest, and reports what is wrong.
      _ = posix_fadvise(
        file, off_t(range.lowerBound), off_t(range.upperBound - range.lowerBound),
        POSIX_FADV_WILLNEED)
    }

    static func startWriteback(_ file: Int32, _ range: Range<Int64>) {
      // Only a hint: the next sync writes and reports the rest.
      _ = haul_start_writeback(file, range.lowerBound, range.upperBound - range.lowerBound)
    }

    static func renameWithoutReplacing(_ directory: Int32, _ from: String, _ to: String) -> Int32 {
      haul_rename_noreplace(directory, from, to)
    }

    /// The error number for a missing attribute.
    static let noAttribute = ENODATA

    static func attribute(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
      haul_get_attribute(file, buffer.baseAddress, buffer.count)
    }

    static func setAttribute(_ file: Int32, _ value: UnsafeRawBufferPointer) -> Int32 {
      haul_set_attribute(file, value.baseAddress, value.count)
    }

    static func defaultACL(_ directory: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
      haul_get_default_acl(directory, buffer.baseAddress, buffer.count)
    }

    static func takeAccess(_ file: Int32, of former: Int32) -> Int32 {
      haul_take_access(file, former)
    }

    static func duplicate(_ file: Int32) -> Int32 { haul_duplicate(file) }

    static func size(_ file: Int32) -> Int64 { haul_size(file) }

    static func tryLock(_ file: Int32) -> Int32 { haul_try_lock(file) }

    static func syncData(_ file: Int32) -> Int32 { fdatasync(file) }

    /// 0 if the kernel does not report it; then only the device number identifies the mount.
    static func mountID(_ file: Int32) -> UInt64 {
      var mount: UInt64 = 0
      return haul_mount_id(file, &mount) == 0 ? mount : 0
    }

    static func bootID() -> String? {
      firstLine(of: "/proc/sys/kernel/random/boot_id") { $0 }
    }

    /// Read from the kernel, because a call of `umask` would change it briefly for every thread.
    static func creationMask() -> UInt32? {
      firstLine(of: "/proc/self/status") { line in
        line.hasBytePrefix("Umask:")
          ? line.split(whereSeparator: \.isWhitespace).last.flatMap { UInt32($0, radix: 8) } : nil
      }
    }

    private static func firstLine<Value>(of path: String, _ parse: (String) -> Value?) -> Value? {
      guard let file = fopen(path, "re") else { return nil }
      defer { fclose(file) }
      var line = [CChar](repeating: 0, count: 256)
      while fgets(&line, Int32(line.count), file) != nil {
        let bytes = line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }
        if let value = parse(String(decoding: bytes, as: UTF8.self)) { return value }
      }
      return nil
    }
  }
#endif
