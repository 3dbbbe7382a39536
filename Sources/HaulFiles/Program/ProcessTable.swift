#if canImport(Glibc)
  import CHaulSystem
  import FoundationEssentials
  import Glibc
  import HaulCore

  /// The processes of this machine, from `/proc`.
  enum ProcessTable {
    struct Entry {
      let pid: Int32
      let group: Int32
      let session: Int32
      /// In clock ticks since boot.
      let start: UInt64
      /// Whether it has ended and was not yet reaped.
      let hasEnded: Bool

      /// From `/proc/PID/stat` (proc(5)). The name in parentheses may contain any character.
      init?(_ text: String) {
        guard let open = text.firstByteIndex(of: "("), let close = text.lastByteIndex(of: ")"),
          let pid = Int32(text[..<open].trimmingBytes(" "))
        else { return nil }
        let fields = text[text.utf8.index(after: close)...].split(whereSeparator: \.isWhitespace)
        guard fields.count > 19, let group = Int32(fields[2]), let session = Int32(fields[3]),
          let start = UInt64(fields[19])
        else { return nil }
        (self.pid, self.group, self.session, self.start) = (pid, group, session, start)
        hasEnded = ["Z", "X", "x"].contains(fields[0])
      }
    }

    /// Nil for a process that does not exist.
    static func entry(_ pid: Int32) -> Entry? {
      contents("/proc/\(pid)/stat").flatMap { Entry(String(decoding: $0, as: UTF8.self)) }
    }

    /// The processes in the group or the session of a leader.
    static func led(by leader: Int32) -> [Entry] {
      // If processes cannot be listed, none is found.
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
      return names.compactMap { Int32($0).flatMap(entry) }.filter {
        !$0.hasEnded && ($0.group == leader || $0.session == leader)
      }
    }

    /// The remaining processes of a program that another process of Haul ran.
    ///
    /// While its leader exists, the start time shows that the pid was not reused. Without the
    /// leader, the pid cannot be reused while its group has members, but may be later. Then the
    /// processes must have the transfer's id in their environment.
    static func rest(of program: StoredProcess) -> [Int32] {
      let process = program.process
      guard process.boot == PlatformCalls.bootID() else { return [] }
      let members = led(by: process.pid)
      if let leader = entry(process.pid) {
        return leader.start == process.start ? members.map(\.pid) : []
      }
      let variable = Array("\(LinuxPrograms.transferIDVariable)=\(program.id)".utf8)
      return members.map(\.pid).filter { pid in
        contents("/proc/\(pid)/environ")?.split(separator: 0).contains {
          $0.elementsEqual(variable)
        }
          ?? false
      }
    }

    private static let moment: Int32 = 50

    /// Waits up to 50 ms for one of these to end; returns whether all have.
    static func waitForEnd(of pids: () -> [Int32]) -> Bool {
      guard let pid = pids().first else { return true }
      let file = haul_pidfd_open(pid)
      var watched = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
      // Without a descriptor, this is a short wait; after an interruption, a shorter one.
      _ = poll(&watched, 1, moment)
      if file != -1 { _ = close(file) }
      return pids().isEmpty
    }

    private static func contents(_ path: String) -> [UInt8]? {
      guard let file = fopen(path, "re") else { return nil }
      defer { fclose(file) }
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = fread(&buffer, 1, buffer.count, file)
        guard count > 0 else { return bytes.isEmpty ? nil : bytes }
        bytes += buffer.prefix(count)
      }
    }
  }
#endif
