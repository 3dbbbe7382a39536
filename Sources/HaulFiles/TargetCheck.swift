package import HaulCore
import HaulLibC

/// The state of a final name, checked before any network request.
package enum TargetState: Hashable, Sendable {
  case absent
  /// Length in bytes, and modification time in seconds since 1970.
  case regular(size: Int64, modified: Double)
  /// A directory, symlink, FIFO, socket or device, which is never replaced.
  case other
}

package enum TargetCheck {
  /// Opens the directory of a target.
  /// - Throws: `permission-denied`, `not-a-regular-file` (part of the path is not a directory),
  ///   `io`.
  package static func openDirectory(_ path: String, on disk: any Disk, creating: Bool)
    throws(TransferError) -> any DiskDirectory
  {
    do throws(DiskError) {
      return try disk.openDirectory(path, creating: creating)
    } catch {
      let name = Printable.text(path)
      guard error.errno == ENOENT, !creating else {
        throw TransferError(
          error, while: "\(error.call == "mkdir" ? "make" : "open") the directory \(name)")
      }
      throw TransferError(.io, "there is no directory \(name)", advice: "create it first")
        .remedied(by: .directory)
    }
  }

  /// The file that has the final name.
  /// - Parameter allowsOther: whether a directory, symlink, FIFO, socket or device is `other`.
  /// - Throws: `not-a-regular-file` for one of these, unless it is allowed; `permission-denied`;
  ///   `io`.
  package static func state(
    of name: String, in directory: any DiskDirectory, allowsOther: Bool = false
  ) throws(TransferError) -> TargetState {
    let status = try mapping("check the target", directory.status(of: name))
    guard let status else { return .absent }
    switch status.kind {
    case .directory where allowsOther, .symlink where allowsOther, .other where allowsOther:
      return .other
    case .regular:
      return .regular(size: status.size, modified: status.modified)
    case .directory:
      throw TransferError(.notARegularFile, "the target is a directory", advice: "give a file name")
    case .symlink:
      throw TransferError(
        .notARegularFile, "the target is a symbolic link", advice: "give the file that it leads to")
    case .other:
      throw TransferError(
        .notARegularFile, "the target is a device, socket or FIFO", advice: "stream to it instead"
      ).remedied(by: .streaming)
    }
  }

  /// The user whose file it is; nil if there is none.
  package static func owner(
    of name: String, in directory: any DiskDirectory
  ) throws(TransferError) -> UInt32? {
    try mapping("check the target", directory.status(of: name)?.owner)
  }
}

/// Untrusted text, made safe for a message.
enum Printable {
  static func text(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator: "?"
          default: scalar
          }
        }))
  }
}
