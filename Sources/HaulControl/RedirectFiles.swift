import FoundationEssentials
package import HaulCore
import HaulLibC
import NIOConcurrencyHelpers

/// Files that lead a browser to an address with a code. Other users can read the arguments of a
/// program, and so an address in them; they cannot read these files.
package final class RedirectFiles: Sendable {
  private let directory: String
  private let clock: any TransferClock
  /// By code.
  private let paths = NIOLockedValueBox<[String: String]>([:])

  package init(in directory: String, clock: any TransferClock) {
    (self.directory, self.clock) = (directory, clock)
  }

  /// Writes a file that is deleted when its code is too old, or by `remove`.
  /// - Returns: its path.
  /// - Throws: `io`, `disk-full`, `permission-denied`.
  package func make(for url: String, code: String) throws(TransferError) -> String {
    try PrivateDirectory.prepare(directory, "state", variable: "XDG_STATE_HOME")
    let path = "\(directory)/\(UUID().uuidString).html"
    try StateFile(path: path).write(Self.page(url).utf8)
    paths.withLockedValue { $0[code] = path }
    Task {
      // Ends early only with the process; the next daemon deletes the file then.
      try? await clock.sleep(until: clock.now + WebSessions.lifetimeOfCode)
      remove(code)
    }
    return path
  }

  /// Deletes the file of a code that was used. One that stays only has a dead code.
  package func remove(_ code: String) {
    let path = paths.withLockedValue { $0.removeValue(forKey: code) }
    if let path { unlink(path) }
  }

  /// Deletes all, also those of an earlier daemon.
  package func removeAll() {
    paths.withLockedValue { $0 = [:] }
    // Without the directory there are none.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    for name in names { unlink("\(directory)/\(name)") }
  }

  private static func page(_ url: String) -> String {
    let escaped = url.replacingBytes("&", with: "&amp;").replacingBytes("\"", with: "&quot;")
      .replacingBytes("<", with: "&lt;")
    return """
      <!DOCTYPE html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="referrer" content="no-referrer">
      <meta http-equiv="refresh" content="0; url=\(escaped)">
      <title>Haul</title>
      <p><a href="\(escaped)">Open Haul</a></p>
      </html>

      """
  }
}
