import HaulLibC

/// The text of system errors (`errno`).
package enum SystemError {
  /// For example `No space left on device`.
  package static func text(_ number: Int32) -> String {
    strerror(number).map { String(cString: $0) } ?? "error \(number)"
  }
}
