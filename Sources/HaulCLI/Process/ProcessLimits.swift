import CHaulSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// What the system lets this process have, and what that means for the work at once; nil stands for
/// no limit, and for one that cannot be told.
package struct ProcessLimits: Sendable, Hashable {
  /// Files and connections that may be open.
  package var openFiles: Int?
  /// Bytes of addresses.
  package var memory: Int?
  package var cores: Int

  package init(openFiles: Int? = nil, memory: Int? = nil, cores: Int = 1) {
    self.openFiles = openFiles
    self.memory = memory
    self.cores = cores
  }

  /// Of one core: an event loop has three.
  private static let filesOfCore = 4
  /// Standard streams, signals, one transfer, one connection.
  private static let leastFiles = 20
  private static let memoryOfCore = 32 << 20
  private static let leastMemory = 448 << 20

  /// A line that tells why nothing can be done within these limits; nil when something can.
  package var refusal: String? {
    let (files, bytes) = (
      Self.leastFiles + cores * Self.filesOfCore, Self.leastMemory + cores * Self.memoryOfCore
    )
    if let openFiles, openFiles < files {
      return "haul: only \(openFiles) open files are allowed, and it needs \(files); "
        + "raise the limit with ulimit -n"
    }
    if let memory, memory < bytes {
      return "haul: only \(Units.bytes(Int64(memory))) of memory are allowed, and it needs "
        + "\(Units.bytes(Int64(bytes))); raise the limit with ulimit -v"
    }
    return nil
  }
}

extension ProcessLimits {
  /// Standard streams, event loops, certificates, and what libraries open now and then.
  private static let others = 64
  /// Of a transfer besides its connections: part file, journal, directory.
  private static let ofTransfer = 3
  /// Of a connection: the one, and another that is being opened in its place.
  private static let ofConnection = 2

  /// Lowers what is done at once so that it fits.
  /// - Returns: a line that tells so; nil when nothing was lowered.
  package func apply(to limits: inout EngineLimits) -> String? {
    guard let openFiles else { return nil }
    let room = max(openFiles - Self.others, Self.ofTransfer + Self.ofConnection)
    let active = min(limits.maximumActive, room / (Self.ofTransfer + Self.ofConnection))
    let connections = min(
      limits.connectionsInAll, max(1, (room - active * Self.ofTransfer) / Self.ofConnection))
    guard active < limits.maximumActive || connections < limits.connectionsInAll else {
      return nil
    }
    limits.maximumActive = active
    limits.connectionsInAll = connections
    return "haul: \(openFiles) open files are allowed; \(Self.count(active, "transfer")) and "
      + "\(Self.count(connections, "connection")) at once, no more; raise the limit with ulimit -n"
  }

  private static func count(_ number: Int, _ what: String) -> String {
    "\(number) \(what)\(number == 1 ? "" : "s")"
  }
}

extension ProcessLimits {
  /// Raises the limit of open files as far as the system lets anyone, and prepares for the others:
  /// a file that may not grow is an error and not a signal, and within limited memory each thread
  /// does without its own heap.
  static func ofThisProcess() -> ProcessLimits {
    #if canImport(Glibc)
      signal(SIGXFSZ, SIG_IGN)
      let memory = limit(__rlimit_resource_t(RLIMIT_AS.rawValue))
      if memory != nil { haul_share_heap() }
      let files = raise(__rlimit_resource_t(RLIMIT_NOFILE.rawValue))
    #elseif canImport(Darwin)
      signal(SIGXFSZ, SIG_IGN)
      let (memory, files): (Int?, Int?) = (nil, raise(RLIMIT_NOFILE))
    #endif
    return ProcessLimits(
      openFiles: files, memory: memory, cores: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
  }

  #if canImport(Glibc)
    private typealias Resource = __rlimit_resource_t
  #else
    private typealias Resource = Int32
  #endif

  private static func limit(_ resource: Resource) -> Int? {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return nil }
    return Int(exactly: limit.rlim_cur)
  }

  private static func raise(_ resource: Resource) -> Int? {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return nil }
    if limit.rlim_cur < limit.rlim_max {
      limit.rlim_cur = limit.rlim_max
      // Where that is refused the old one holds.
      if setrlimit(resource, &limit) != 0 { return Self.limit(resource) }
    }
    return Int(exactly: limit.rlim_cur)
  }
}
