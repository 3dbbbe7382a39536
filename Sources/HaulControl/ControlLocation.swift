package import HaulCore

/// Where the daemon of a user keeps its list and listens.
package struct ControlLocation: Sendable, Hashable {
  /// The directory of the list and of the socket, for its owner only.
  package let directory: String

  /// The longest path of a socket on Linux, in bytes: `sun_path` less its NUL.
  private static let maximumSocketPath = 107

  /// - Throws: `io` when the directory is not an absolute path, or the path of the socket is too
  ///   long for the system.
  package init(directory: String) throws(TransferError) {
    guard directory.isAbsolutePath, !directory.utf8.contains(0) else {
      throw TransferError(.io, "the state directory \(directory) is not an absolute path")
    }
    self.directory = directory
    guard socket.utf8.count <= Self.maximumSocketPath else {
      throw TransferError(
        .io,
        "the path of the socket, \(socket), has \(socket.utf8.count) bytes, and the system allows "
          + "\(Self.maximumSocketPath)",
        advice: "set XDG_STATE_HOME to a shorter path")
    }
  }

  /// `haul` in `XDG_STATE_HOME`, or in `~/.local/state` when that is not set. The XDG specification
  /// says to ignore a relative path.
  package init(environment: [String: String]) throws(TransferError) {
    if let state = environment["XDG_STATE_HOME"], state.isAbsolutePath {
      try self.init(directory: state.appendingPath("haul"))
    } else if let home = environment["HOME"], home.isAbsolutePath {
      try self.init(directory: home.appendingPath(".local/state/haul"))
    } else {
      throw TransferError(.io, "neither XDG_STATE_HOME nor HOME is set", advice: "set one of them")
    }
  }

  /// The directory of `haul.conf`. As in the XDG specification, a relative `XDG_CONFIG_HOME` is
  /// ignored.
  package static func configuration(_ environment: [String: String]) -> String? {
    if let base = environment["XDG_CONFIG_HOME"], base.isAbsolutePath { return "\(base)/haul" }
    guard let home = environment["HOME"], !home.isEmpty else { return nil }
    return "\(home)/.config/haul"
  }

  /// The directory of the stored list.
  package var list: String { "\(directory)/list" }

  /// The file that says which process uses the list (`docs/store.md`).
  var lock: String { "\(list)/queue.lock" }

  /// The directory of the addresses of unfinished uploads.
  package var uploads: String { "\(directory)/uploads" }

  /// The directory of the copies of manifests that are in stores.
  package var manifests: String { "\(directory)/manifests" }

  /// The file of what is known of stores.
  package var stores: String { "\(directory)/stores" }

  /// The path of the control socket.
  package var socket: String { "\(directory)/control.sock" }

  /// A file that exists while the queue is suspended.
  package var suspended: String { "\(directory)/suspended" }

  /// The file of the limits that were set while a daemon ran.
  package var limits: String { "\(directory)/limits" }

  /// The file of the newest notices, for the web page.
  package var notices: String { "\(directory)/notices" }

  /// The file of the times of the newest transfers.
  package var history: String { "\(directory)/history" }

  /// The file that says which notices were delivered to a channel.
  package func noticeCursor(of channel: String) -> String { "\(directory)/notified-\(channel)" }

  /// The file of the token for the control interface over TCP.
  package var token: String { "\(directory)/token" }

  /// The file of the page's password and of the tokens with a scope.
  package var access: String { "\(directory)/access" }

  /// The file of the certificate that the daemon has made, and of its key.
  package var certificate: String { "\(directory)/certificate" }

  /// The file of the page's port and sessions.
  package var sessions: String { "\(directory)/sessions" }

  /// The directory of the files that lead a browser to the page.
  package var redirects: String { "\(directory)/redirects" }

  /// The file of the starts, stops, ends and long waits of transfers.
  package var transferLog: String { "\(directory)/transfers.log" }

  /// The file to which a daemon in the background logs.
  package var log: String { "\(directory)/daemon.log" }
}
