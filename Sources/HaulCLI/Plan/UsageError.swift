/// Wrong usage or configuration: nothing was started, and the exit status is 2.
package struct UsageError: Error, Hashable, Sendable {
  /// One line, without secrets.
  package let message: String

  package init(_ message: String) { self.message = message }
}

extension UsageError: CustomStringConvertible {
  package var description: String { message }
}
