import HaulControl
import NIOConcurrencyHelpers

/// Notices that `haul.conf` has changed since the daemon read it.
final class ConfigurationWatch: Sendable {
  private let path: String?
  private let stamp: NIOLockedValueBox<FileStamp?>

  init(_ environment: [String: String]) {
    path = ControlLocation.configuration(environment).map { "\($0)/haul.conf" }
    stamp = NIOLockedValueBox(path.map { FileStamp($0) })
  }

  /// Of the file as it is; taken before it is read.
  var present: FileStamp? { path.map { FileStamp($0) } }

  var hasChanged: Bool { stamp.withLockedValue { $0 } != present }

  /// What the file had then is used now.
  func note(_ read: FileStamp?) { stamp.withLockedValue { $0 = read } }
}
