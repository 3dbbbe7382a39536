import CHaulSystem
import HaulLibC

/// The resource limits of this process, and the concurrency that they allow; nil for no limit or an
/// unknown limit.
package struct ProcessLimits: Sendable, Hashable {
  /// Files and connections that may be open.
  package var openFiles: Int?
  /// Bytes of address space.
  package var memory: Int?
  package var cores: Int

  package init(openFiles: Int? = nil, memory: Int? = nil, cores: Int = 1) {
    self.openFiles = openFiles
    self.memory = memory
    self.cores = cores
  }

  /// Descriptors for each core: an event loop has three.
  private static let filesOfCore = 4
  /// Standard streams, signals, one transfer, one connection.
  private static let minimumFiles = 20
  private static let memoryOfCore = 32 << 20
  private static let minimumMemory = 448 << 20

  /// Why nothing can run within these limits; nil if something can.
  package var refusal: String? {
    let (files, bytes) = (
      Self.minimumFiles + cores * Self.filesOfCore, Self.minimumMemory + cores * Self.memoryOfCore
    )
    if let openFiles, openFiles < files {
      return "only \(openFiles) open files are allowed, and haul needs \(files); "
        + "raise the limit with ulimit -n"
    }
    if let memory, memory < bytes {
      return "only \(Units.bytes(Int64(memory))) of memory are allowed, and haul needs "
        + "\(Units.bytes(Int64(bytes))); raise the limit with ulimit -v"
    }
    return nil
  }
}

extension ProcessLimits {
  /// Standard streams, event loops, certificates, and files that libraries open now and then.
  private static let others = 64
  /// For a transfer besides its connections: part file, journal, directory.
  private static let ofTransfer = 3
  /// For a connection: its own descriptor, and that of a connection that replaces it.
  private static let ofConnection = 2

  /// Lowers the concurrency to fit the limits.
  /// - Returns: a line that reports it; nil if nothing was lowered.
  package func apply(to managerOptions: inout ManagerOptions) -> String? {
    guard let openFiles else { return nil }
    let room = max(openFiles - Self.others, Self.ofTransfer + Self.ofConnection)
    let active = min(managerOptions.maximumActive, room / (Self.ofTransfer + Self.ofConnection))
    let connections = min(
      managerOptions.maximumConnections,
      max(1, (room - active * Self.ofTransfer) / Self.ofConnection))
    guard active < managerOptions.maximumActive || connections < managerOptions.maximumConnections
    else {
      return nil
    }
    managerOptions.maximumActive = active
    managerOptions.maximumConnections = connections
    return "\(openFiles) open files allow at most \(Self.count(active, "transfer")) and "
      + "\(Self.count(connections, "connection")) at once; raise the limit with ulimit -n"
  }

  private static func count(_ number: Int, _ what: String) -> String {
    "\(number) \(what)\(number == 1 ? "" : "s")"
  }
}

extension ProcessLimits {
  /// Raises the limit of open files as far as allowed, and forbids core dumps. Exceeding the file
  /// size becomes an error instead of a signal, and with limited memory all threads share a heap.
  static func ofThisProcess() -> ProcessLimits {
    haul_forbid_core_dumps()
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
      // If the system refuses, the old limit stays.
      if setrlimit(resource, &limit) != 0 { return Self.limit(resource) }
    }
    return Int(exactly: limit.rlim_cur)
  }
}
