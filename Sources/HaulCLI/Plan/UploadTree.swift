package import HaulCore

/// What a directory contains, for an upload: perhaps a million files. Each path is held as what it
/// adds to the one before it.
package struct UploadTree: Sendable {
  package struct Entry: Hashable, Sendable {
    /// The names from the directory down, its own last.
    package var names: [String]
    /// Otherwise it is a file. Only empty directories are listed.
    package var isDirectory = false
    /// Which file or directory it was.
    package var identity: FileIdentity?
    /// Whether it was found through a symbolic link, so that it may be outside of the directory.
    package var isLinked = false

    package init(
      _ names: [String], isDirectory: Bool = false, _ identity: FileIdentity? = nil,
      isLinked: Bool = false
    ) {
      self.names = names
      self.isDirectory = isDirectory
      self.identity = identity
      self.isLinked = isLinked
    }
  }

  /// What an entry is written after. A directory's path ends with a slash.
  fileprivate struct Previous {
    var path: [UInt8] = []
    var device: UInt64?
  }

  /// One array of all would need twice its memory while it grows.
  private static let chunkSize = 64 << 10
  /// Each begins with a whole entry.
  fileprivate var chunks: [[UInt8]] = []
  private var previous = Previous()
  /// What was found and is no entry.
  package var leftOut = LeftOut()

  package init() {}

  /// - Parameter entries: sorted by name, each directory at its place.
  package init(_ entries: [Entry]) { for entry in entries { append(entry) } }

  package mutating func append(_ entry: Entry) {
    if chunks.last.map({ $0.count >= Self.chunkSize }) ?? true {
      chunks.append([])
      previous = Previous()
    }
    let path = Array((entry.names.joined(separator: "/") + (entry.isDirectory ? "/" : "")).utf8)
    var shared = 0
    while shared < path.count, shared < previous.path.count, path[shared] == previous.path[shared] {
      shared += 1
    }
    let chunk = chunks.count - 1
    chunks[chunk].append(number: UInt64(shared))
    chunks[chunk].append(number: UInt64(path.count - shared))
    chunks[chunk] += path[shared...]
    previous.path = path
    let link = entry.isLinked ? Self.isLinked : 0
    guard let identity = entry.identity else { return chunks[chunk].append(Self.isUnknown | link) }
    if identity.device == previous.device {
      chunks[chunk].append(Self.isOfSameDevice | link)
    } else {
      chunks[chunk].append(Self.isOfOtherDevice | link)
      chunks[chunk].append(number: identity.device)
      previous.device = identity.device
    }
    chunks[chunk].append(number: identity.inode)
  }

  /// What is known of which file an entry was.
  fileprivate static let (isUnknown, isOfSameDevice, isOfOtherDevice): (UInt8, UInt8, UInt8) =
    (0, 1, 2)
  /// Added to it.
  fileprivate static let isLinked: UInt8 = 4
}

extension UploadTree: Sequence {
  package struct Iterator: IteratorProtocol, Sendable {
    fileprivate let tree: UploadTree
    fileprivate var chunk = 0
    fileprivate var position = 0
    fileprivate var previous = Previous()

    package mutating func next() -> Entry? {
      while chunk < tree.chunks.count, position == tree.chunks[chunk].count {
        (chunk, position, previous) = (chunk + 1, 0, Previous())
      }
      guard chunk < tree.chunks.count else { return nil }
      let (shared, added) = (Int(number()), Int(number()))
      previous.path.removeLast(previous.path.count - shared)
      previous.path += tree.chunks[chunk][position..<position + added]
      position += added
      var entry = Entry(String(decoding: previous.path, as: UTF8.self).pathNames)
      if previous.path.last == UInt8(ascii: "/") {
        entry.isDirectory = true
        entry.names.removeLast()  // nothing follows the slash
      }
      var known = tree.chunks[chunk][position]
      position += 1
      entry.isLinked = known & UploadTree.isLinked != 0
      known &= ~UploadTree.isLinked
      guard known != UploadTree.isUnknown else { return entry }
      if known == UploadTree.isOfOtherDevice { previous.device = number() }
      entry.identity = FileIdentity(device: previous.device ?? 0, inode: number())
      return entry
    }

    private mutating func number() -> UInt64 {
      var (number, shift): (UInt64, UInt64) = (0, 0)
      while true {
        let byte = tree.chunks[chunk][position]
        position += 1
        number |= UInt64(byte & 0x7F) << shift
        if byte < 0x80 { return number }
        shift += 7
      }
    }
  }

  package func makeIterator() -> Iterator { Iterator(tree: self) }
}

extension [UInt8] {
  /// Seven bits a byte, the lowest ones first.
  fileprivate mutating func append(number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }
}
