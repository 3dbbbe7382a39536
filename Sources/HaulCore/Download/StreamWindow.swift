/// How far ahead of its reader a stream may run, and where the reader is.
package struct StreamWindow: Sendable, Hashable {
  /// The most bytes that are held for the reader.
  package let size: Int64
  /// What one connection fetches at a time, so that the next bytes come first.
  package let piece: Int64
  /// Everything before this was read.
  package internal(set) var position: Int64 = 0
  /// Whether bytes of this version were given to the reader.
  package internal(set) var isCommitted = false
  /// Counts discarded versions.
  package private(set) var generation = 0

  /// A window of `size` bytes in which that many connections fetch two pieces each.
  package init(size: Int64, connections: Int) {
    self.size = size
    // A single connection fetches the whole rest.
    piece = connections > 1 ? max(size / Int64(2 * connections), 1) : .max
  }

  /// Nothing from this offset on is fetched yet.
  var end: Int64 { position + size }

  var nextGeneration: StreamWindow {
    var next = self
    next.position = 0
    next.generation += 1
    return next
  }
}
