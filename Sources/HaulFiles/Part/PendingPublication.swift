/// A whole file and its final name.
package struct PendingPublication: Sendable {
  let part: PartFile
  let name: String
  let length: Int64
  let modified: Double?
  let replacing: Bool

  /// - Parameters:
  ///   - length: the length of the whole file; the caller has verified the content.
  ///   - modified: modification time in seconds since 1970; nil leaves it unchanged.
  ///   - replacing: whether an existing file of that name is replaced.
  package init(
    of part: PartFile, _ name: String, length: Int64, modified: Double?, replacing: Bool
  ) {
    self.part = part
    self.name = name
    self.length = length
    self.modified = modified
    self.replacing = replacing
  }
}
