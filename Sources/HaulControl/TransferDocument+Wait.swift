package import HaulCore

extension TransferDocument {
  /// Why it does not run. Keys that do not belong to the code are null.
  package struct Wait: Codable, Hashable, Sendable {
    /// `WaitReason.code`.
    package var code: String
    /// Why, for people.
    package var message: String
    /// Seconds since 1970; nil if unknown, or if it is not a date.
    @Nullable package var until: Double?
    /// The transfer that it waits for.
    @Nullable package var transfer: TransferID?
    /// Whether that one must be retried first.
    @Nullable package var isBlocked: Bool?
    /// The directory that is missing, or whose disk is full.
    @Nullable package var directory: String?
    /// Bytes that a full disk lacks, and those that were free.
    @Nullable package var needed: Int64?
    @Nullable package var free: Int64?
    /// The code of what would hold it after its start time.
    @Nullable package var next: String?

    package init(code: String, message: String) { (self.code, self.message) = (code, message) }

    enum CodingKeys: String, CodingKey {
      case code, message, until, transfer
      case isBlocked = "blocked"
      case directory, needed, free, next
    }
  }
}

extension TransferDocument.Wait {
  package init(_ reason: WaitReason, at wallSeconds: Double) {
    self.init(code: reason.code, message: reason.text(at: wallSeconds))
    until = reason.untilSeconds.flatMap { (0..<1e11).contains($0) ? $0 : nil }
    switch reason {
    case .dependency(let id, let isBlocked): (transfer, self.isBlocked) = (id, isBlocked)
    case .directoryMissing(let path, _): directory = path
    case .diskFull(let shortage):
      (directory, needed, free) = (shortage.directory, shortage.needed, shortage.free)
    default: break
    }
  }

  /// Nil for a code of another version. Devices are only known to the daemon.
  package var reason: WaitReason? {
    switch code {
    case "slot": .slot
    case "host-limit": .hostLimit
    case "host-refusal": .hostRefusal(until: until ?? 0)
    case "host-back-off": .hostBackOff(until: until ?? 0)
    case "host-outage": .hostOutage(until: until)
    case "retry": .retry(at: until ?? 0)
    case "dependency": transfer.map { .dependency($0, isBlocked: isBlocked ?? false) }
    case "disk-full":
      .diskFull(.init(device: 0, directory: directory ?? "", needed: needed ?? 0, free: free))
    case "directory-missing": .directoryMissing(directory ?? "", foundDevice: nil)
    case "offline": .offline
    case "credentials-refused": .credentialsRefused
    case "start-time": .startTime(until: until ?? 0)
    case "schedule": .schedule(message, until: until)
    case "suspended": .suspended
    case "list-not-stored": .listNotStored
    default: nil
    }
  }
}
