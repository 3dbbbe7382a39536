/// How much of its source an upload can send: all of a file; of a stream, what was read and is
/// still held.
package struct UploadExtent: Sendable, Hashable {
  /// The bytes before it are gone.
  package var start: Int64
  package var end: Int64
  /// Whether nothing follows.
  package var isWhole: Bool

  package init(start: Int64 = 0, end: Int64, isWhole: Bool = true) {
    (self.start, self.end, self.isWhole) = (start, end, isWhole)
  }

  /// The length of the source in bytes; nil while its end was not read.
  package var length: Int64? { isWhole ? end : nil }

  /// How much of a stream is read at a time, in bytes. One that ends before is known as a whole,
  /// and is sent as a file.
  package static let window = 8 << 20
}
