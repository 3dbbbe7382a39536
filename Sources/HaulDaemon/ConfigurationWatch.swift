import HaulControl

/// Notices that `haul.conf` has changed since the daemon began: only a restart uses it.
struct ConfigurationWatch: Sendable {
  private let path: String?
  private let stamp: FileStamp?

  init(_ environment: [String: String]) {
    path = ControlLocation.configuration(environment).map { "\($0)/haul.conf" }
    stamp = path.map { FileStamp($0) }
  }

  var hasChanged: Bool { path.map { FileStamp($0) } != stamp }
}
