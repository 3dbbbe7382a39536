import HaulLibC

/// What the system knows of the programs that have a file open.
package enum FileLease {
  #if canImport(Glibc)
    /// `F_SETSIG` and `F_SETLEASE` of fcntl(2), which the C library hides behind `_GNU_SOURCE`.
    private static let setSignal: Int32 = 10
    private static let setLease: Int32 = 1024
  #endif

  /// True if a program has a file of this user open for writing. Not every file system knows: then
  /// false.
  /// - Parameter file: open for reading only.
  package static func isOpenForWriting(_ file: Int32) -> Bool {
    #if canImport(Glibc)
      // Who opens it meanwhile makes the system send a signal, by default one that kills.
      guard fcntl(file, setSignal, SIGURG) == 0 else { return false }
      if fcntl(file, setLease, Int32(F_RDLCK)) != 0 { return errno == EAGAIN }
      _ = fcntl(file, setLease, Int32(F_UNLCK))
    #endif
    return false
  }
}
