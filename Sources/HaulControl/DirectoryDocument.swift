/// `GET /api/v1/space`: how much may still be written to a directory.
package struct SpaceDocument: Codable, Hashable, Sendable {
  package var directory: String
  /// In bytes; nil if the file system does not say.
  package var free: Int64?

  package init(directory: String) { self.directory = directory }
}

/// `GET /api/v1/files`: the files of a directory that a transfer may send, and its directories.
package struct DirectoryDocument: Codable, Hashable, Sendable {
  package struct Entry: Codable, Hashable, Sendable {
    package var name: String
    package var isDirectory: Bool
    /// The length of a file, in bytes.
    package var size: Int64?

    enum CodingKeys: String, CodingKey {
      case name, size
      case isDirectory = "is_directory"
    }

    package init(name: String, isDirectory: Bool, size: Int64?) {
      (self.name, self.isDirectory, self.size) = (name, isDirectory, size)
    }
  }

  package var directory: String
  /// The directory that it is in; nil for a root.
  package var parent: String?
  /// By name.
  package var entries: [Entry]
  /// Whether there are more than are given.
  package var hasMore: Bool

  enum CodingKeys: String, CodingKey {
    case directory, parent, entries
    case hasMore = "has_more"
  }

  package init(directory: String, parent: String?, entries: [Entry], hasMore: Bool) {
    (self.directory, self.parent) = (directory, parent)
    (self.entries, self.hasMore) = (entries, hasMore)
  }
}
