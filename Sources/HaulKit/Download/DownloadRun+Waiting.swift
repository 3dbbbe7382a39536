import HaulCore
import HaulFiles
import Logging
import NIOConcurrencyHelpers

/// What is in the way of a download and may go away: then it ends for now, to go on from its bytes
/// later.
extension DownloadRun {
  /// What made it fail, where that may go away.
  func waitReason(behind end: RunEnd) async -> WaitReason? {
    // A stream cannot resume: its reader has the bytes.
    guard driver.stream == nil, case .finished(let result) = end, result.state == .failed,
      let error = result.error, let reason = await waitReason(behind: error)
    else { return nil }
    engine.logger.info("it waits: \(error.message)", metadata: ["transfer": "\(id)"])
    return reason
  }

  /// What fails for want of a network is told as such.
  func seen(_ event: DownloadMachine.Event) -> DownloadMachine.Event {
    guard engine.waitsForNetwork, driver.stream == nil, case .failed(let id, let error) = event,
      error.cause == .noRoute, !engine.network.isUp
    else { return event }
    return .failed(id, error.with(.noNetwork))
  }

  /// Why a target that was just taken is not written to: its file system is full.
  func refusal(of claim: TargetClaim) async -> WaitReason? {
    let device = claim.key.device
    guard engine.fullDevices.withLockedValue({ $0.contains(device) }) else { return nil }
    let location = location
    let length = claim.part.recovery.head?.length
    return try? await engine.io.run { () throws(TransferError) in
      let shortage = try Shortage.find(
        claim.directory, location?.partName, length: length, path: claim.directory.path)
      // There is room again, and that was not seen yet.
      if shortage.free.map({ $0 >= WaitMonitor.reserve }) ?? true { return nil }
      claim.part.release()
      return .diskFull(shortage)
    }
  }

  /// The place where an earlier run left its bytes, when that is not there. It is not made again: a
  /// directory of that name would lie on another file system.
  func missingLocation() async -> WaitReason? {
    guard engine.waitsForDisk, let former = driver.former else { return nil }
    return try? await engine.io.run { [disk = engine.disk] () throws(TransferError) in
      guard let found = DirectoryLookup.find(former.directory, on: disk) else {
        return .directoryMissing(former.directory, seen: nil)
      }
      // A file system that was taken away and is back may have another number, and has after a
      // boot.
      if found.device == former.device || former.boot != disk.bootID
        || found.holds(former.partName)
      {
        return nil
      }
      return .directoryMissing(former.directory, seen: found.device)
    }
  }

  private func waitReason(behind error: TransferError) async -> WaitReason? {
    switch error.cause {
    case .noNetwork: .offline
    case .noRoom where engine.waitsForDisk: await shortage()
    // Only a place that was there can go away.
    default: engine.waitsForDisk && error.code == .io ? await vanishedPlace() : nil
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

  /// The directory, when it went away with its file system. One that somebody removed is not waited
  /// for: its bytes are lost.
  private func vanishedPlace() async -> WaitReason? {
    guard let location, let directory = claim?.directory else { return nil }
    return try? await engine.io.run { [disk = engine.disk] () throws(TransferError) in
      if let found = DirectoryLookup.find(location.directory, on: disk) {
        guard found.device != location.device else { return nil }
        return .directoryMissing(location.directory, seen: found.device)
      }
      let isRemoved = (try? directory.status().links) == 0  // nothing is told of what is gone
      return isRemoved ? nil : .directoryMissing(location.directory, seen: nil)
    }
  }
}

typealias Shortage = WaitReason.Shortage

extension WaitReason.Shortage {
  /// What a file lacks. Room that its part holds counts as its own.
  /// - Parameter length: of the whole file, as far as it is known.
  fileprivate static func find(
    _ directory: any DiskDirectory, _ part: String?, length: Int64?, path: String
  ) throws(TransferError) -> Self {
    try mapping("look at the directory") { () throws(DiskError) in
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
  /// Where its file is to go, as the request says.
  fileprivate var directoryPath: String {
    switch destination {
    case .stream: "."
    case .directory(let path): path.isEmpty ? "." : path
    case .file(let path): path.pathParts.directory
    }
  }
}
