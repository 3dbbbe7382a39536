import HaulCore

/// The wait reason of a member. The time of the next attempt has its own column; reasons that
/// depend on other members are not stored.
struct StoredWaitReason: Codable, Hashable {
  var code: String
  var directory: String?
  var device: UInt64?
  var needed: Int64?
  var free: Int64?
  var until: Double?

  init?(_ reason: WaitReason) {
    code = reason.code
    switch reason {
    case .diskFull(let shortage):
      (directory, device) = (shortage.directory, shortage.device)
      (needed, free) = (shortage.needed, shortage.free)
    case .directoryMissing(let path, let seen): (directory, device) = (path, seen)
    case .startTime(let time), .hostBackOff(let time): until = time
    case .offline, .credentialsRefused: break
    default: return nil
    }
  }

  /// - Throws: `io` for a value that this version does not know.
  func reason() throws(TransferError) -> WaitReason {
    if code == "start-time", let until { return .startTime(until: until) }
    if code == "host-back-off", let until { return .hostBackOff(until: until) }
    switch (code, directory, device) {
    case (WaitReason.offline.code, _, _): return .offline
    case (WaitReason.credentialsRefused.code, _, _): return .credentialsRefused
    case ("directory-missing", let path?, _): return .directoryMissing(path, foundDevice: device)
    case ("disk-full", let path?, let device?):
      return .diskFull(
        .init(device: device, directory: path, needed: needed ?? 0, free: free))
    default: throw .unreadable("a wait reason")
    }
  }
}

extension RowCoding {
  /// - Parameters:
  ///   - form: a `StoredWaitReason`, if there is one.
  ///   - retryAt: when the next attempt is due, in seconds since 1970.
  func waitReason(_ form: String?, retryAt: Double?) throws(TransferError) -> WaitReason? {
    guard let form else { return retryAt.map { .retry(at: $0) } }
    return try decode(StoredWaitReason.self, form, "wait reason").reason()
  }
}
