package import HaulCore

/// What a directory contains, for an upload.
package struct UploadTree: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    /// The names from the directory down, its own last.
    package var names: [String]
    /// Otherwise it is a file. Only empty directories are listed.
    package var isDirectory = false
    /// Which file or directory it was.
    package var identity: FileIdentity?

    package init(_ names: [String], isDirectory: Bool = false, _ identity: FileIdentity? = nil) {
      self.names = names
      self.isDirectory = isDirectory
      self.identity = identity
    }
  }

  /// Sorted by name, each directory at its place.
  package var entries: [Entry]

  package init(_ entries: [Entry]) { self.entries = entries }
}
