import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

extension TargetPlace {
  /// Takes away the bytes of an address that are there, where there is no room to take them over first. Blocks.
  func discard(_ url: ResourceURL, on disk: any Disk) throws(TransferError) {
    guard let found = Place.find(directory, on: disk) else { return }
    try PartFile.removeLeft(of: name, in: found.directory, on: disk) { $0.isOf(url) }
  }
}

/// What a run tells the queue of its place, while it runs.
final class PlaceNote: Sendable {
  private struct State {
    var place: TargetPlace?
    /// Open for as long as something runs: what waits must not keep a file system from being taken away.
    var directory: (any DiskDirectory)?
  }

  private let state = NIOLockedValueBox(State())

  var place: TargetPlace? { state.withLockedValue { $0.place } }
  var directory: (any DiskDirectory)? { state.withLockedValue { $0.directory } }

  func begin(_ claim: TargetClaim, boot: String) {
    let place = TargetPlace(
      directory: claim.directory.path, device: claim.key.device, boot: boot,
      name: claim.name.text, partName: claim.part.partName)
    state.withLockedValue { ($0.place, $0.directory) = (place, claim.directory) }
  }

  func end(length: Int64?) { state.withLockedValue { $0.place?.length = length } }

  func letGo() { state.withLockedValue { $0.directory = nil } }
}
