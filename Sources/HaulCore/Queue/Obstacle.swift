/// What is in the way of a transfer and may go away without anybody's doing anything for the transfer.
package enum Obstacle: Hashable, Sendable {
  case fullDisk(Shortage)
  /// The directory of its file is not there, or another file system is in the place of its own.
  /// - `seen`: the device that was there; nil when nothing was.
  case missingDirectory(String, seen: UInt64?)
  case noNetwork

  /// A file system without room for a file.
  package struct Shortage: Hashable, Sendable {
    package let device: UInt64
    /// A directory on it, to ask it by.
    package let directory: String
    /// Bytes that the file will still take; 0 when nobody knows.
    package let needed: Int64
    /// Bytes that were free when the file found no room; nil where the file system does not tell.
    package let free: Int64?

    package init(device: UInt64, directory: String, needed: Int64, free: Int64?) {
      self.device = device
      self.directory = directory
      self.needed = needed
      self.free = free
    }
  }

  /// For a person.
  package var words: String {
    switch self {
    case .fullDisk(let shortage): shortage.words
    case .missingDirectory(let path, seen: nil): "the directory \(path) is not there"
    case .missingDirectory(let path, seen: .some):
      "the file system that \(path) was on is not there"
    case .noNetwork: "there is no network"
    }
  }
}

extension Obstacle.Shortage {
  fileprivate var words: String {
    guard let free else { return "the disk is full" }
    // A quota, or what is kept for the superuser: the number of free bytes says nothing then.
    guard !isDoubtful else { return "the disk takes no more, although it tells of free space" }
    guard needed > free else { return "the disk is full: \(ByteCount.text(free)) free" }
    let texts = ByteCount.texts(needed, free)
    return "the disk is full: \(texts.1) free, \(texts.0) needed"
  }

  /// Whether the number of free bytes does not explain that there was no room.
  var isDoubtful: Bool {
    guard let free else { return true }
    return free >= needed && free - needed >= ObstacleWatch.reserve
  }
}
