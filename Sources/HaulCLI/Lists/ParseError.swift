/// Why a line of a text of the user cannot be read. It never repeats what may be a secret.
package struct ParseError: Error, Hashable, Sendable {
  package let line: Int
  package let message: String
}

extension ParseError: CustomStringConvertible {
  package var description: String { "line \(line): \(message)" }
}
