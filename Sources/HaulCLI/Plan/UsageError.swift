/// Wrong usage or configuration: nothing was started, and the exit status is 2.
package struct UsageError: Error, Hashable, Sendable {
  /// One line, without secrets.
  package let message: String

  package init(_ message: String) { self.message = message }

  /// The value. An error that it throws is one of usage; `place` says what it is about.
  static func checked<Value>(
    _ value: @autoclosure () throws -> Value, at place: @autoclosure () -> String? = nil
  ) throws(UsageError) -> Value {
    do {
      return try value()
    } catch {
      throw UsageError((place().map { "\($0): " } ?? "") + "\(error)")
    }
  }
}

extension UsageError: CustomStringConvertible {
  package var description: String { message }
}
