import HaulCore
import HaulFiles
import Logging
import NIOConcurrencyHelpers

/// Finds the wait reason of a download. The run then ends, and a later one resumes.
extension DownloadRun {
  /// The wait reason behind a failure, if there is one.
  func waitReason(behind end: RunEnd) async -> WaitReason? {
    // A stream cannot resume: its reader has taken the bytes.
    guard driver.stream == nil, case .finished(let result) = end, result.state == .failed,
      let error = result.error, let reason = await waitReason(behind: error)
    else { return nil }
    // It resumes by itself, so the advice is for nobody.
    engine.logger.info("waiting: \(error.fact)", metadata: ["transfer": "\(id)"])
    return reason
  }

  /// Marks a failure with `noNetwork` when the machine has no network.
  func withoutNetwork(_ event: DownloadMachine.Event) -> DownloadMachine.Event {
    guard driver.stream == nil, case .failed(let id, let error) = event, engine.isOffline(error)
    else { return event }
    return .failed(id, error.with(.noNetwork))
  }

  /// Why a new target is not written: its file system is full.
  func refusal(of claim: TargetClaim) async -> WaitReason? {
    let device = claim.key.device
    guard engine.fullDevices.withLockedValue({ $0.contains(device) }) else { return nil }
    let location = location
    let length = claim.part.recovery.head?.length
    return try? await engine.io.run { () throws(TransferError) in
      let shortage = try Shortage.find(
        claim.directory, location?.partName, length: length, path: claim.directory.path)
      // There is space again, and the monitor has not noticed yet.
      if shortage.free.map({ $0 >= WaitMonitor.reserve }) ?? true { return nil }
      claim.part.release()
      return .diskFull(shortage)
    }
  }

  /// The directory with an earlier run's bytes, if it is missing. It is not created: it would be on
  /// another file system.
  func missingPartDirectory() async -> WaitReason? {
    guard engine.waitsForDisk, driver.needsPreviousBytes,
      let previousLocation = driver.previous.location
    else { return nil }
    return try? await engine.io.run { [disk = engine.disk] () throws(TransferError) in
      guard let found = DirectoryLookup.find(previousLocation.directory, on: disk) else {
        return .directoryMissing(previousLocation.directory, foundDevice: nil)
      }
      // After unmounting and mounting, or after a boot, a file system may have another device
      // number.
      if found.device == previousLocation.device || previousLocation.boot != disk.bootID
        || found.holds(previousLocation.partName)
      {
        return nil
      }
      return .directoryMissing(previousLocation.directory, foundDevice: found.device)
    }
  }

  private func waitReason(behind error: TransferError) async -> WaitReason? {
    switch error.cause {
    case .noNetwork: .offline
    case .refusedCredentials where engine.waitsForCredentials: .credentialsRefused
    case .noRoom where engine.waitsForDisk: await shortage()
    // Only a location that existed can disappear.
    default: engine.waitsForDisk && error.code == .io ? await lostDirectory() : nil
    }
  }

  private func shortage() async -> WaitReason? {
    let location = location
    let path = location?.directory ?? request.directoryPath
    return try? await engine.io.run { [disk = engine.disk] () throws(TransferError) in
      let directory = try DirectoryLookup.nearest(path, on: disk)
      return .diskFull(
        try Shortage.find(
          directory, location?.partName, length: location?.length, path: directory.path))
    }
  }

  /// The directory, if it disappeared with its file system. If it was deleted, its bytes are lost
  /// and nothing waits for it.
  private func lostDirectory() async -> WaitReason? {
    guard let location, let directory = claim?.directory else { return nil }
    return try? await engine.io.run { [disk = engine.disk] () throws(TransferError) in
      if let found = DirectoryLookup.find(location.directory, on: disk) {
        guard found.device != location.device else { return nil }
        return .directoryMissing(location.directory, foundDevice: found.device)
      }
      let isRemoved = (try? directory.status().links) == 0  // on failure: missing
      return isRemoved ? nil : .directoryMissing(location.directory, foundDevice: nil)
    }
  }
}

typealias Shortage = WaitReason.Shortage

extension WaitReason.Shortage {
  /// How much space a file lacks. Space that its part file has reserved counts as available.
  /// - Parameter length: of the whole file, as far as it is known.
  fileprivate static func find(
    _ directory: any DiskDirectory, _ part: String?, length: Int64?, path: String
  ) throws(TransferError) -> Self {
    try mapping("check the directory") { () throws(DiskError) in
      let held = try part.flatMap { part throws(DiskError) in
        try directory.status(of: part)?.allocated
      }
      return Self(
        device: try directory.status().device, directory: path,
        needed: max(0, (length ?? 0) - (held ?? 0)), free: try directory.availableBytes())
    }
  }
}

extension DownloadRequest {
  /// The directory of its file, as the request says.
  fileprivate var directoryPath: String {
    switch destination {
    case .stream: "."
    case .directory(let path): path.isEmpty ? "." : path
    case .file(let path): path.pathParts.directory
    }
  }
}
